//! What lies where inside a variable: members and elements, by the types of the debug information.
//!
//! A place is followed down to something that has no parts: `.slots[3].value`. It ends earlier where the type does
//! not tell which part is meant: in a union, in padding, in a type that is only declared. Nothing is guessed.
//!
//! What the languages' own libraries wrap around a single value is not shown: an atomic variable is the variable, not
//! its `_M_i`.

use crate::dwarf::{Die, Reader};
use addr2line::gimli;

/// A part of a variable.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Part {
    /// Members and elements, as in the source: `.slots[3].value`; empty for the variable as a whole.
    pub(crate) path: String,
    /// How far into the part the place is.
    pub(crate) offset: u64,
}

/// Types nest no deeper than this; damaged information may refer to itself.
const DEEPEST: usize = 64;

/// A member that holds a place.
struct Member<'a> {
    /// Without one: a base class, or a structure without a name, whose members are its owner's.
    name: Option<String>,
    of: Die<'a>,
    start: u64,
    size: u64,
}

/// The part of a variable of this type that is `offset` bytes into it.
pub(crate) fn part<'a>(reader: &Reader<'a>, variable: &Die<'a>, offset: u64) -> Part {
    let mut way = Way { path: String::new(), offset, unnamed: 0 };
    let mut of = reader.type_of(variable);
    for _ in 0..DEEPEST {
        let Some(here) = of else { break };
        of = step(reader, &here, &mut way);
    }
    Part { path: way.path, offset: way.unnamed + way.offset }
}

/// How far a place has been followed.
struct Way {
    path: String,
    /// How far into the type that was reached the place is.
    offset: u64,
    /// How far into the last part that has a name that type begins.
    unnamed: u64,
}

/// Goes one level down: to the type of the member or element at the offset, if there is exactly one.
fn step<'a>(reader: &Reader<'a>, of: &Die<'a>, way: &mut Way) -> Option<Die<'a>> {
    match of.entry.tag() {
        tag if is_another_name(tag) => reader.type_of(of),
        gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
            let mut members = members(reader, of).into_iter();
            let mut here = members.by_ref().filter(|m| m.start <= way.offset && way.offset - m.start < m.size);
            let member = here.next()?;
            // Of a union, and of bits of one byte, nobody knows which is meant.
            if here.next().is_some() {
                return None;
            }
            let whole = member.start == 0 && member.size >= size(reader, of, DEEPEST)?;
            way.offset -= member.start;
            if let Some(name) = member.name.filter(|_| !(whole && of.unit.is_library(of.entry.offset()))) {
                way.path += &format!(".{}", plain(&name));
                way.unnamed = 0;
            } else {
                way.unnamed += member.start;
            }
            Some(member.of)
        }
        gimli::DW_TAG_array_type => {
            let element = reader.type_of(of)?;
            let counts = counts(reader, of);
            let bytes = size(reader, &element, DEEPEST).filter(|bytes| *bytes > 0)?;
            let mut rest = way.offset / bytes;
            let mut indices = Vec::new();
            // The last dimension runs fastest.
            for count in counts.iter().skip(1).rev() {
                let count = count.filter(|count| *count > 0)?;
                indices.push(rest % count);
                rest /= count;
            }
            if counts.first()?.is_some_and(|count| rest >= count) {
                return None;
            }
            indices.push(rest);
            way.offset %= bytes;
            way.unnamed = 0;
            way.path.extend(indices.iter().rev().map(|index| format!("[{index}]")));
            Some(element)
        }
        _ => None,
    }
}

/// Types that only rename or qualify another.
fn is_another_name(tag: gimli::DwTag) -> bool {
    matches!(
        tag,
        gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type
            | gimli::DW_TAG_immutable_type
    )
}

/// Rust's debug information calls the members of tuples `__0`.
fn plain(name: &str) -> &str {
    let number = name.strip_prefix("__").filter(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()));
    number.unwrap_or(name)
}

/// The parts of a structure that take up room.
fn members<'a>(reader: &Reader<'a>, of: &Die<'a>) -> Vec<Member<'a>> {
    let mut list = Vec::new();
    for child in reader.children(of) {
        match child.entry.tag() {
            // What is only declared there is a variable of its own.
            gimli::DW_TAG_member | gimli::DW_TAG_inheritance
                if !child.entry.has_attr(gimli::DW_AT_external) && !child.entry.has_attr(gimli::DW_AT_declaration) =>
            {
                list.extend(member(reader, &child));
            }
            // Rust's enumerations: which variant it is, and what each of them holds.
            gimli::DW_TAG_variant_part | gimli::DW_TAG_variant => list.extend(members(reader, &child)),
            _ => {}
        }
    }
    list
}

fn member<'a>(reader: &Reader<'a>, child: &Die<'a>) -> Option<Member<'a>> {
    let of = reader.type_of(child)?;
    let number = |name| child.entry.attr_value(name).and_then(|value| value.udata_value());
    let place = number(gimli::DW_AT_data_member_location);
    // Something else than a number: a place that is computed.
    if place.is_none() && child.entry.has_attr(gimli::DW_AT_data_member_location) {
        return None;
    }
    let whole = number(gimli::DW_AT_byte_size).or_else(|| size(reader, &of, DEEPEST))?;
    let start = place.unwrap_or(0);
    let bits = number(gimli::DW_AT_bit_size);
    // Before DWARF 5, bits were counted down from the end of what they are a part of.
    let old = || {
        let (before, bits) = (number(gimli::DW_AT_bit_offset)?, bits?);
        start.checked_add(whole)?.checked_mul(8)?.checked_sub(before.checked_add(bits)?)
    };
    let (start, size) = match (bits, number(gimli::DW_AT_data_bit_offset).or_else(old)) {
        (Some(bits), Some(bit)) => (bit / 8, (bit % 8 + bits).div_ceil(8)),
        _ => (start, whole),
    };
    Some(Member { name: reader.name(child), of, start, size })
}

/// How many elements an array has in each dimension; `None` where the source does not say.
fn counts<'a>(reader: &Reader<'a>, array: &Die<'a>) -> Vec<Option<u64>> {
    let of = |range: Die<'_>| {
        let number = |name| range.entry.attr_value(name).and_then(|value| value.udata_value());
        let last = || number(gimli::DW_AT_upper_bound)?.checked_add(1);
        number(gimli::DW_AT_count).or_else(last)
    };
    let ranges = reader.children(array).into_iter().filter(|c| c.entry.tag() == gimli::DW_TAG_subrange_type);
    ranges.map(of).collect()
}

/// How long a variable is.
pub(crate) fn size_of<'a>(reader: &Reader<'a>, variable: &Die<'a>) -> Option<u64> {
    size(reader, &reader.type_of(variable)?, DEEPEST)
}

/// How long a value of this type is. An array without an end takes what there is.
fn size<'a>(reader: &Reader<'a>, of: &Die<'a>, deep: usize) -> Option<u64> {
    let told = of.entry.attr_value(gimli::DW_AT_byte_size).and_then(|value| value.udata_value());
    match of.entry.tag() {
        _ if told.is_some() || deep == 0 => told,
        gimli::DW_TAG_array_type => {
            let element = size(reader, &reader.type_of(of)?, deep - 1)?;
            let counts = counts(reader, of);
            let product = counts.iter().try_fold(element, |product, count| product.checked_mul((*count)?));
            Some(product.unwrap_or(u64::MAX))
        }
        gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type => Some(8),
        tag if is_another_name(tag) => size(reader, &reader.type_of(of)?, deep - 1),
        _ => None,
    }
}
