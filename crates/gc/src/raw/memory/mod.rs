//! Memory: the address map, pages, blocks and free runs, the nursery, and moving objects together.

pub(crate) mod address;
pub(crate) mod compact;
pub(crate) mod nursery;
pub(crate) mod os;
pub(crate) mod pages;
pub(crate) mod sizes;
pub(crate) mod space;
