//! x86-64 instructions that do the same wherever they stand.

/// The length of an instruction that does the same wherever it stands, if it is one of those that functions begin with.
pub fn movable(code: &[u8]) -> Option<usize> {
    let prefixes = code.iter().take_while(|byte| matches!(byte, 0xf0 | 0x64 | 0x66 | 0x40..=0x4f)).count();
    let after = code.get(prefixes..)?;
    Some(
        prefixes
            + match *after {
                [0xf3, 0x0f, 0x1e, 0xfa, ..] => 4,
                [0x50..=0x5f, ..] => 1,
                [0xb8..=0xbf, ..] if prefixes == 0 => 5,
                [0x0f, 0xb1 | 0xc1, ..] => 2 + operands(&after[2..])?,
                [0x83 | 0xc6, ..] => 2 + operands(&after[1..])?,
                [0x81 | 0xc7, ..] => 5 + operands(&after[1..])?,
                [0x01 | 0x03 | 0x29 | 0x2b | 0x31 | 0x33 | 0x39 | 0x3b | 0x85 | 0x87 | 0x89 | 0x8b | 0x8d, ..] => {
                    1 + operands(&after[1..])?
                }
                // inc, dec, push
                [0xff, form, ..] if matches!(form >> 3 & 7, 0 | 1 | 6) => 1 + operands(&after[1..])?,
                _ => return None,
            },
    )
}

/// The length of what says which registers and memory an instruction works on, unless that depends on where it stands.
fn operands(code: &[u8]) -> Option<usize> {
    let (form, index) = (*code.first()?, code.get(1).copied());
    let (kind, register) = (form >> 6, form & 7);
    let has_index = kind != 3 && register == 4;
    let length = 1 + usize::from(has_index);
    Some(match kind {
        3 => 1,
        0 if register == 5 => return None,
        0 if has_index && index? & 7 == 5 => length + 4,
        0 => length,
        1 => length + 1,
        _ => length + 4,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_that_functions_begin_with_have_their_length() {
        for code in [
            &[0x55][..],                                 // push rbp
            &[0x41, 0x57],                               // push r15
            &[0x48, 0x89, 0xe5],                         // mov rbp, rsp
            &[0x48, 0x83, 0xec, 0x20],                   // sub rsp, 32
            &[0x48, 0x81, 0xec, 0, 1, 0, 0],             // sub rsp, 256
            &[0xf0, 0xff, 0x07],                         // lock inc dword [rdi]
            &[0xf0, 0x48, 0xff, 0x47, 0x08],             // lock inc qword [rdi + 8]
            &[0xb8, 1, 0, 0, 0],                         // mov eax, 1
            &[0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0], // mov rax, fs:[0]
            &[0xf0, 0x0f, 0xb1, 0x0f],                   // lock cmpxchg [rdi], ecx
        ] {
            assert_eq!(movable(&[code, &[0x90; 8]].concat()), Some(code.len()), "{code:x?}");
        }
    }

    #[test]
    fn what_depends_on_its_place_is_not_moved() {
        for code in [
            &[0xe8, 0, 0, 0, 0][..],         // call
            &[0x74, 4],                      // je
            &[0x48, 0x8b, 0x05, 0, 0, 0, 0], // mov rax, [rip]
            &[0xff, 0x25, 0, 0, 0, 0],       // jmp [rip]
            &[0x48, 0x8d, 0x3d, 0, 0, 0, 0], // lea rdi, [rip]
            &[0xff, 0xd0],                   // call rax
        ] {
            assert_eq!(movable(&[code, &[0x90; 8]].concat()), None, "{code:x?}");
        }
    }
}
