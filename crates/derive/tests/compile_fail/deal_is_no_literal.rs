//! What is no text that can be read now.

use heaphound::deal;

fn main() {
    let _ = deal!("instances(Node) <= 1");
    let _ = deal!("rule one: forall Node x: x.next == null; query Node x");
    let text = "forall Node x: x.next == null";
    let _ = deal!(text);
    let _ = deal!(text, text);
}
