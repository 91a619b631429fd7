//! An interface does not extend itself.

use heaphound::Interface;

#[derive(Interface)]
#[interface(extends(Second))]
struct First;

#[derive(Interface)]
#[interface(extends(First))]
struct Second;

fn main() {}
