//! Writes the placements of an exact name into the caller's array.
use crate::border::{self, Answer, ErrorOut, Room, ask};
use crate::handle::Handle;
use probeidx::query::index::functions::Instance;
use std::ffi::c_char;

/// `struct probeidx_place`
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Place {
    /// A link address; in a module, an offset within the section.
    pub address: u64,
    /// The number of the object.
    pub object: u32,
    /// The address less the base of the object.
    pub pc: u32,
    /// The number of the placement.
    pub place: u32,
    /// 0 out-of-line, 1 inline, 2 statement.
    pub instance: u32,
}

/// The number of a kind of placement.
pub fn instance(instance: Instance) -> u32 {
    match instance {
        Instance::OutOfLine => 0,
        Instance::Inline => 1,
        Instance::Statement => 2,
    }
}

/// The placements of all functions with exactly this name.
#[unsafe(no_mangle)]
pub extern "C" fn probeidx_places(
    index: *const Handle,
    name: *const c_char,
    length: usize,
    places: *mut Place,
    capacity: usize,
    count: *mut usize,
    error: *mut ErrorOut,
) -> i32 {
    ask(index, error, |open| -> Answer {
        border::give(count, 0)?;
        let mut room = Room::new(places, capacity);
        for function in open.lookup().functions(border::bytes(name, length)?) {
            for place in function.placements() {
                room.push(Place {
                    address: place.address(),
                    object: place.at().object.get(),
                    pc: place.at().pc,
                    place: place.id().get(),
                    instance: instance(place.instance()),
                });
            }
        }
        room.end(count)
    })
}
