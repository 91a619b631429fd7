//! Sources for the compiler, made up.

use crate::programs::Random;

/// Names that sources choose from, beside those of their classes.
const WORDS: u64 = 2_000;

/// Returns the texts of `files` files.
pub(super) fn make_up(files: usize) -> Vec<String> {
    let mut author = Author {
        random: Random::new(13),
        text: String::new(),
    };
    (0..files).map(|file| author.write(file)).collect()
}

struct Author {
    random: Random,
    text: String,
}

impl Author {
    fn write(&mut self, file: usize) -> String {
        self.text.clear();
        for class in 0..2 + self.random.below(3) {
            self.class(file, class);
        }
        std::mem::take(&mut self.text)
    }

    fn class(&mut self, file: usize, class: u64) {
        self.text += &format!("class Class{file}_{class} {{\n");
        for _ in 0..3 + self.random.below(5) {
            let name = self.word();
            self.text += &format!("  int {name} = ");
            self.expression(2);
            self.text += ";\n";
        }
        for _ in 0..6 + self.random.below(8) {
            let name = self.word();
            self.text += &format!("  int {name}(int a, int b, int count) {{\n");
            self.block(3);
            self.text += "    return ";
            self.expression(2);
            self.text += ";\n  }\n";
        }
        self.text += "}\n";
    }

    fn block(&mut self, depth: u64) {
        for _ in 0..3 + self.random.below(4) {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: u64) {
        let kind = match depth {
            0 => self.random.below(4),
            _ => self.random.below(7),
        };
        match kind {
            0 | 1 => {
                let name = self.word();
                self.text += &format!("int {name} = ");
                self.expression(3);
                self.text += ";\n";
            }
            2..=4 => {
                let name = self.word();
                self.text += &format!("{name} = ");
                self.expression(3);
                self.text += ";\n";
            }
            5 => {
                self.text += "if (";
                self.condition();
                self.text += ") {\n";
                self.block(depth - 1);
                self.text += "} else {\n";
                self.block(depth - 1);
                self.text += "}\n";
            }
            _ => {
                self.text += "while (";
                self.condition();
                self.text += ") {\n";
                self.block(depth - 1);
                self.text += "}\n";
            }
        }
    }

    fn condition(&mut self) {
        self.expression(1);
        self.text += [" < ", " > ", " == "][self.random.index(3)];
        self.expression(1);
    }

    fn expression(&mut self, depth: u64) {
        match self.random.below(depth + 2) {
            0 => self.text += &self.random.below(1000).to_string(),
            1 => {
                let name = self.word();
                self.text += &name;
            }
            2 if self.random.below(2) == 0 => {
                let name = self.word();
                self.text += &format!("{name}(");
                self.expression(1);
                self.text += ", ";
                self.expression(depth - 1);
                self.text += ")";
            }
            _ => {
                self.text += "(";
                self.expression(depth - 1);
                self.text += [" + ", " - ", " * ", " / "][self.random.index(4)];
                self.expression(depth - 1);
                self.text += ")";
            }
        }
    }

    fn word(&mut self) -> String {
        match self.random.below(4) {
            0 => ["a", "b", "count"][self.random.index(3)].into(),
            _ => format!("name{}", self.random.skewed(WORDS)),
        }
    }
}
