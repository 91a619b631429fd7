//! Texts that ask for more than they are worth: they get mistakes, soon, and little memory.

use heaphound_snapshot::read_text;

fn check(text: &str, expected: &str) {
    let shown = match read_text(text.as_bytes(), "heap", &mut |_, _| {}) {
        Ok(heap) => format!("{} objects", heap.len()),
        Err(errors) => errors.mistakes[0].message.clone(),
    };
    assert_eq!(shown, expected);
}

#[test]
fn long_lines_are_no_trouble() {
    let nonsense = "[{(\"".repeat(2_500_000);
    check(&nonsense, "expected an object, as in `[#1`");
    let message = format!("expected an object, as in `{}…", "A".repeat(273));
    check(&"A".repeat(10_000_000), &message);
    check(
        &format!("A#1 [ {} ]", "A#1, ".repeat(2_000_000)),
        "1 objects",
    );
    check(
        &format!("A#1 \"{}\"", "\\u{e9}".repeat(1_000_000)),
        "1 objects",
    );
    check(
        "\0\0\0",
        "expected an object, as in `Node#1`, but found '\\0'",
    );
}

#[test]
fn a_long_chain_of_classes_is_refused() {
    let mut text = String::from("class C0 { f0 -> }\n");
    for nth in 1..20_000 {
        text.push_str(&format!("class C{nth} : C{} {{ f{nth} -> }}\n", nth - 1));
    }
    check(&text, "the classes inherit too many fields in all");
}

#[test]
fn a_circle_of_classes_is_refused() {
    let mut text = String::from("class C0 : C9999\n");
    for nth in 1..10_000 {
        text.push_str(&format!("class C{nth} : C{}\n", nth - 1));
    }
    check(&text, "`C0` extends itself");
}

#[test]
fn many_roots_of_a_long_name_are_refused() {
    let name = "n".repeat(1 << 20);
    let text = format!("root {name} -> A#1{}", ", A#1".repeat(200_000));
    check(&text, "the names of the roots are too long in all");
}

#[test]
fn many_values_of_a_wide_class_are_refused() {
    let mut text = String::from("class A { ");
    for nth in 0..50_000 {
        text.push_str(&format!("f{nth}: u64, "));
    }
    text.push_str("}\n");
    for nth in 0..50_000 {
        text.push_str(&format!("A#{nth}.f1 = 1\n"));
    }
    check(&text, "the values take too much memory");
}

#[test]
fn numbers_of_any_size_name_objects() {
    let numbers = [0, 1, 7, 1 << 31, (1 << 32) - 1, 1 << 32, u64::MAX];
    let line = |number: &u64| format!("A#{number}.x -> B#{number}\n");
    let text: String = numbers.iter().map(line).collect();
    check(&text, "14 objects");
}

#[test]
fn a_long_chain_of_ephemerons_is_followed() {
    let mut text = String::from("root static:first -> K#0\n");
    for nth in (0..100_000).rev() {
        let next = nth + 1;
        text.push_str(&format!("root static:e{nth} -> E#{nth}\n"));
        text.push_str(&format!(
            "E#{nth} {{ key -weak-> K#{nth}, value -dependent-> K#{next} }}\n"
        ));
    }
    check(&text, "200001 objects");
}
