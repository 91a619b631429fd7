//! The heap of a tiny object-oriented language: its classes are known only when its
//! program runs, so they are dynamic classes of the managed heap.
//!
//! ```text
//! class Animal name legs        a class with two slots
//! class Dog : Animal owner      a subclass with one more
//! let rex = new Dog             a global variable
//! rex.name = "Rex"              a slot: a string, another variable, or nil
//! show rex                      prints an object, slot by slot
//! collect                       collects garbage
//! ```

use std::collections::HashMap;
use std::error::Error;

use heaphound::{DynClass, Heap, Instance, Local, Managed, Mutator, Object, Static, Str};

const PROGRAM: &str = r#"
class Animal name friend
class Dog : Animal owner
let rex = new Dog
let tom = new Animal
rex.name = "Rex"
tom.name = "Tom"
rex.friend = tom
tom.friend = rex
rex.owner = "Ada"
show rex
let tom = nil
collect
show rex
rex.friend = nil
collect
show rex
"#;

struct Interpreter<'h> {
    heap: &'h Heap,
    classes: HashMap<String, DynClass>,
    globals: HashMap<String, Static<Object>>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let heap = Heap::builder().max_bytes(64 << 20).build()?;
    let mut m = heap.attach("interpreter")?;
    let mut interpreter = Interpreter {
        heap: &heap,
        classes: HashMap::new(),
        globals: HashMap::new(),
    };
    for line in PROGRAM.lines().filter(|line| !line.is_empty()) {
        interpreter
            .execute(&mut m.scope(), line)
            .map_err(|error| format!("{line}: {error}"))?;
    }
    Ok(())
}

impl Interpreter<'_> {
    fn execute(&mut self, m: &mut Mutator<'_>, line: &str) -> Result<(), Box<dyn Error>> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["class", name, ":", superclass, ref slots @ ..] => {
                let superclass = self.classes.get(superclass).ok_or("no such superclass")?;
                let class = self.heap.define_class(name).extends(superclass)?;
                let class = slots.iter().fold(class, |class, &slot| class.slot(slot));
                self.classes.insert(name.into(), class.define()?);
            }
            ["class", name, ref slots @ ..] => {
                let class = self.heap.define_class(name);
                let class = slots.iter().fold(class, |class, &slot| class.slot(slot));
                self.classes.insert(name.into(), class.define()?);
            }
            ["let", name, "=", "new", class] => {
                let class = self.classes.get(class).ok_or("no such class")?;
                let object = m.alloc_instance(class)?;
                self.global(m, name).set(m, Some(m[object].as_object()));
            }
            ["let", name, "=", value] => {
                let value = self.evaluate(m, value)?;
                self.global(m, name).set(m, value.map(|value| &m[value]));
            }
            [place, "=", ..] => {
                let (object, slot) = place.split_once('.').ok_or("expected object.slot")?;
                let value = self.evaluate(m, line.split_once('=').unwrap().1.trim())?;
                let object = self.global(m, object).get(m).ok_or("nil has no slots")?;
                let mut slots = object.class().slots();
                let index = slots.position(|it| it.name == slot).ok_or("no such slot")?;
                let instance = object.downcast::<Instance>().ok_or("not an instance")?;
                instance[index].set(value.map(|value| &m[value]));
            }
            ["show", name] => println!("{name} is {}", show(self.global(m, name).get(m), 2)),
            ["collect"] => {
                m.collect();
                let stats = self.heap.stats();
                let last = stats.history.back().ok_or("no collection happened")?;
                println!("-- {} objects live", last.marked_objects);
            }
            _ => return Err("what?".into()),
        }
        Ok(())
    }

    /// A global variable is a static root; reports show its name.
    fn global(&mut self, m: &Mutator<'_>, name: &str) -> Static<Object> {
        let globals = &mut self.globals;
        let new = || m.static_root(name);
        globals.entry(name.into()).or_insert_with(new).clone()
    }

    fn evaluate<'a>(
        &mut self,
        m: &mut Mutator<'a>,
        text: &str,
    ) -> Result<Option<Local<'a, Object>>, Box<dyn Error>> {
        if text == "nil" {
            return Ok(None);
        }
        if let Some(text) = text
            .strip_prefix('"')
            .and_then(|text| text.strip_suffix('"'))
        {
            let text = m.alloc_str(text)?;
            return Ok(Some(text.upcast(m)));
        }
        let value = self.global(m, text).get(m).map(|object| m.local(object));
        Ok(value)
    }
}

fn show(object: Option<&Object>, depth: usize) -> String {
    let Some(object) = object else {
        return "nil".into();
    };
    if let Some(text) = object.downcast::<Str>() {
        return format!("{text:?}");
    }
    let class = object.class();
    match object.downcast::<Instance>() {
        Some(instance) if depth > 0 => {
            let slots = class.slots().zip(instance.iter());
            let slots =
                slots.map(|(info, slot)| format!("{}: {}", info.name, show(slot.get(), depth - 1)));
            format!(
                "{} {{ {} }}",
                class.name,
                slots.collect::<Vec<_>>().join(", ")
            )
        }
        _ => format!("{} …", class.name),
    }
}
