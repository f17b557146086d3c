//! A table on a terminal takes the place of the one before it.
use std::io::Write;

/// Rows and columns.
pub type Size = (u16, u16);

/// What stands on the terminal, right before the cursor.
#[derive(Debug, Default)]
pub struct Redraw {
    rows: usize,
    size: Option<Size>,
}

impl Redraw {
    /// What is to be written before a table and behind it. `size` is that of the terminal; `None` if there is none that obeys:
    /// then tables follow one another. So they do if the last one reaches beyond the screen, or if the size changed, because
    /// terminals then move lines as they like. The last table is written whole; of the others the terminal cuts off
    /// what is wider than it, so that a line is a row whatever characters it has.
    pub fn around(&mut self, table: &str, size: Option<Size>, is_end: bool) -> [String; 2] {
        let Some((height, _)) = size else { return Default::default() };
        let is_there = self.rows > 0 && self.rows < height.into() && self.size == size;
        // CUU, ED and DECAWM of ECMA-48 and the VT100.
        let back = if is_there { format!("\x1b[{}A\r\x1b[J", self.rows) } else { String::new() };
        self.rows = table.lines().count();
        self.size = size;
        match is_end {
            true => [back, String::new()],
            false => [back + "\x1b[?7l", "\x1b[?7h".to_owned()],
        }
    }

    /// Something else was written: the next table stands below it.
    pub fn forget(&mut self) {
        self.rows = 0;
    }
}

/// The size of the terminal that stdout is; `None` if it is none.
pub fn size() -> Option<Size> {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok()?;
    (size.ws_row > 0 && size.ws_col > 0).then_some((size.ws_row, size.ws_col))
}

/// Writes to the terminal what commands it: not through `out`, which lets no such thing pass.
pub fn command(text: &str) -> std::io::Result<()> {
    let mut terminal = std::io::stdout();
    terminal.write_all(text.as_bytes())?;
    terminal.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is seen on a terminal of this height that does what it is told, and how many lines scrolled out.
    struct Screen {
        height: usize,
        width: usize,
        lines: Vec<String>,
        row: usize,
    }

    impl Screen {
        fn write(&mut self, text: &str) {
            let mut wraps = true;
            let mut rest = text;
            while let Some(c) = rest.chars().next() {
                rest = &rest[c.len_utf8()..];
                if c == '\x1b' {
                    let end = rest.find(|c: char| c.is_ascii_alphabetic()).unwrap();
                    let (command, behind) = (&rest[1..end], &rest[end + 1..]);
                    match rest.as_bytes()[end] {
                        b'A' => {
                            let first = self.lines.len().saturating_sub(self.height);
                            self.row = (self.row - command.parse::<usize>().unwrap()).max(first);
                        }
                        b'J' => {
                            self.lines.truncate(self.row);
                            self.lines.push(String::new());
                        }
                        b'l' => wraps = false,
                        b'h' => wraps = true,
                        other => panic!("{other}"),
                    }
                    rest = behind;
                    continue;
                }
                let is_full = self.lines[self.row].chars().count() == self.width;
                match c {
                    '\r' => {}
                    '\n' => self.down(),
                    _ if is_full && !wraps => {}
                    c => {
                        if is_full {
                            self.down();
                        }
                        self.lines[self.row].push(c);
                    }
                }
            }
            assert!(wraps, "the terminal is left as it was");
        }

        fn down(&mut self) {
            self.row += 1;
            if self.row == self.lines.len() {
                self.lines.push(String::new());
            }
        }
    }

    fn shown(height: u16, tables: &[(&str, Option<Size>)]) -> String {
        let mut screen = Screen { height: height.into(), width: 6, lines: vec![String::new()], row: 0 };
        let mut redraw = Redraw::default();
        for (nth, (table, size)) in tables.iter().enumerate() {
            let [before, behind] = redraw.around(table, *size, nth + 1 == tables.len());
            screen.write(&[&before, *table, &behind].concat());
        }
        screen.lines.join("\n")
    }

    #[test]
    fn a_table_replaces_the_one_before_it() {
        let size = Some((5, 6));
        assert_eq!(shown(5, &[("a\nb\n", size), ("c\n", size), ("d\ne\nf\n", size)]), "d\ne\nf\n");
        // What is wider than the terminal is one row, but for the last table, which is whole.
        assert_eq!(shown(5, &[("1234567890\nb\n", size), ("1234567890\nc\n", size)]), "123456\n7890\nc\n");
    }

    #[test]
    fn what_cannot_be_replaced_stays() {
        let size = Some((3, 6));
        assert_eq!(
            shown(3, &[("a\nb\nc\n", size), ("d\n", size)]),
            "a\nb\nc\nd\n",
            "it reaches beyond the screen"
        );
        assert_eq!(shown(5, &[("a\n", Some((5, 6))), ("b\n", Some((5, 9)))]), "a\nb\n", "the size changed");
        assert_eq!(shown(5, &[("a\n", None), ("b\n", None)]), "a\nb\n");
        let mut redraw = Redraw::default();
        redraw.around("a\n", size, false);
        redraw.forget();
        assert_eq!(redraw.around("b\n", size, true)[0], "");
    }
}
