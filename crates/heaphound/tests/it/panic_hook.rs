//! The panic hook of this binary. A process has one, so that tests that need one share it.

use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    static PLACE: RefCell<String> = RefCell::default();
}

/// Messages of panics that tests cause by the hundred, which nobody needs to read.
const EXPECTED: [&str; 3] = ["was invalidated", "was pruned", "an observer panics"];

/// Installs the hook if that was not done before.
pub fn install() {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let place = info.location().map(ToString::to_string);
            PLACE.set(place.unwrap_or_default());
            let text = info.to_string();
            if !EXPECTED.iter().any(|expected| text.contains(expected)) {
                before(info);
            }
        }));
    });
}

/// Returns the line that the last panic of this thread is blamed on, once.
pub fn take_place() -> String {
    PLACE.take()
}
