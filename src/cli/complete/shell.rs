//! Parses and quotes words as a shell does.

/// The default of bash's COMP_WORDBREAKS.
pub const USUAL_BREAKS: &str = " \t\n\"'@><=;|&(:";

/// The words up to the cursor.
#[derive(Debug, PartialEq, Eq)]
pub struct Typed {
    /// The words after the name of the program, unquoted; the last one may be empty.
    pub words: Vec<String>,
    /// The quote open at the cursor.
    quote: Option<char>,
    /// How much of the last word is kept when the shell replaces the rest.
    kept: usize,
    /// Whether the last word is not an argument, but the file after `>` or `<`.
    pub is_file: bool,
}

impl Typed {
    /// Words that are already parsed.
    pub fn words(words: &[String]) -> Self {
        Self { words: words.to_vec(), quote: None, kept: 0, is_file: false }
    }

    /// The word at the cursor.
    pub fn last(&self) -> &str {
        self.words.last().map_or("", String::as_str)
    }

    /// The replacement for this word, quoted as it was started. bash closes an open quote itself if there is one
    /// candidate, so that a space is only added outside.
    pub fn insertion(&self, word: &str, is_final: bool) -> String {
        let rest = word.get(self.kept..).unwrap_or_default();
        let mut text = String::with_capacity(rest.len());
        for c in rest.chars() {
            match self.quote {
                Some('\'') if c == '\'' => text.push_str("'\\''"),
                Some('\'') => text.push(c),
                Some(_) if "\"\\$`".contains(c) => text.extend(['\\', c]),
                Some(_) => text.push(c),
                None if c.is_alphanumeric() || "_-+=@%:,./^".contains(c) => text.push(c),
                None => text.extend(['\\', c]),
            }
        }
        if is_final && self.quote.is_none() {
            text.push(' ');
        }
        text
    }
}

/// Parses a command line as bash does: quotes, backslashes and blanks. `breaks` are the characters at which a word ends
/// for its line editor, which replaces what follows the last unquoted one.
pub fn read(line: &str, breaks: &str) -> Typed {
    let mut words = vec![];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut kept = 0;
    let mut kept_before_quote = 0;
    let mut is_file = false;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        let is_blank = quote.is_none() && matches!(c, ' ' | '\t' | '\n');
        if is_blank {
            if let Some(word) = word.take()
                && !std::mem::take(&mut is_file)
            {
                words.push(word);
            }
            kept = 0;
            continue;
        }
        if quote.is_none() && matches!(c, '<' | '>') {
            // A file descriptor before it is not an argument either.
            words.extend(word.take().filter(|word| !word.bytes().all(|b| b.is_ascii_digit())));
            (is_file, kept) = (true, 0);
            continue;
        }
        let text = word.get_or_insert_default();
        match (quote, c) {
            (Some(open), c) if c == open => {
                quote = None;
                kept = kept_before_quote;
            }
            (Some('\''), c) => text.push(c),
            (Some(_), '\\') => match chars.next() {
                Some(next @ ('"' | '\\' | '$' | '`')) => text.push(next),
                next => text.extend(Some('\\').into_iter().chain(next)),
            },
            (Some(_), c) => text.push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                kept_before_quote = kept;
                kept = text.len();
            }
            (None, '\\') => text.extend(chars.next()),
            (None, c) => {
                // readline includes these in what it replaces, because they mark the kind of completion
                // (`rl_special_prefixes`, bash 5.2): `@` before a host, `$` before a variable.
                let is_prefix = matches!(c, '@' | '$');
                let before = text.len();
                text.push(c);
                if breaks.contains(c) {
                    kept = if is_prefix { before } else { text.len() };
                }
            }
        }
    }
    words.push(word.unwrap_or_default());
    words.remove(0);
    if words.is_empty() {
        // The cursor is in the name of the program.
        words.push(String::new());
        (quote, kept) = (None, 0);
    }
    Typed { words, quote, kept, is_file }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn completed(line: &str, word: &str) -> (Vec<String>, String) {
        let typed = read(line, USUAL_BREAKS);
        let insertion = typed.insertion(word, true);
        (typed.words, insertion)
    }

    #[test]
    fn words_are_read_and_completed_in_their_quotes() {
        for (line, words, word, inserted) in [
            ("probeidx ", &[""][..], "find", "find "),
            ("probeidx fi", &["fi"], "find", "find "),
            (
                "probeidx find vfs_read@fs/re",
                &["find", "vfs_read@fs/re"],
                "vfs_read@fs/read_write.c",
                "@fs/read_write.c ",
            ),
            ("p find --kernel=6", &["find", "--kernel=6"], "--kernel=6.1", "6.1 "),
            ("p find nfs:do", &["find", "nfs:do"], "nfs:do_open", "do_open "),
            (
                "p type 'struct file.f_p",
                &["type", "struct file.f_p"],
                "struct file.f_path",
                "struct file.f_path",
            ),
            ("p type struct\\ fi", &["type", "struct fi"], "struct file", "struct\\ file "),
            (
                "p find 'kernel.function(\"v",
                &["find", "kernel.function(\"v"],
                "kernel.function(\"vm\")",
                "kernel.function(\"vm\")",
            ),
            (
                "p find \"kernel.function(\\\"v",
                &["find", "kernel.function(\"v"],
                "kernel.function(\"vm\")",
                "kernel.function(\\\"vm\\\")",
            ),
            (
                "p find kernel.function\\(\\\"v",
                &["find", "kernel.function(\"v"],
                "kernel.function(\"vm\")",
                "kernel.function\\(\\\"vm\\\"\\) ",
            ),
            (
                "p resolve 'a' 'b c' 'file->f",
                &["resolve", "a", "b c", "file->f"],
                "file->f_path",
                "file->f_path",
            ),
            ("p find '*'@f", &["find", "*@f"], "*@fs/x.c", "@fs/x.c "),
            ("p find 'a'b", &["find", "ab"], "abc", "abc "),
        ] {
            assert_eq!(
                completed(line, word),
                (words.iter().map(|w| w.to_string()).collect(), inserted.to_owned()),
                "{line}"
            );
        }
    }

    /// By default, a shell writes to a file of this name.
    #[test]
    fn an_arrow_without_quotes_leads_to_a_file() {
        assert!(read("p resolve vfs_read file->f_pa", USUAL_BREAKS).is_file);
        assert!(read("p find a 2> ", USUAL_BREAKS).is_file);
        for line in ["p find >out a", "p find 2> out a", "p find a"] {
            assert_eq!(read(line, USUAL_BREAKS), read("p find a", USUAL_BREAKS), "{line}");
        }
        assert_eq!(completed("p resolve f file-\\>f", "file->f_path").1, "file-\\>f_path ");
        assert_eq!(completed("p resolve f fi", "file->").1, "file-\\> ");
    }

    #[test]
    fn other_breaks() {
        assert_eq!(read("p find a@b", " \t\n").insertion("a@bc", false), "a@bc");
    }

    proptest! {
        /// The insertion parses as the word.
        #[test]
        fn an_insertion_is_read_as_the_word(word in "[ -~]{1,12}", open in prop::sample::select(vec!["", "'", "\""])) {
            let line = format!("p {open}");
            let typed = read(&line, USUAL_BREAKS);
            let whole = format!("{line}{}{open}", typed.insertion(&word, false));
            prop_assert_eq!(read(&whole, USUAL_BREAKS).words, vec![word]);
        }

        #[test]
        fn any_line_is_read(line in "\\PC{0,30}", breaks in "\\PC{0,5}") {
            let typed = read(&line, &breaks);
            prop_assert!(typed.kept <= typed.last().len());
        }
    }
}
