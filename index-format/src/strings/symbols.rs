//! The symbols of strings: see [`strings`](super). `examples/symbols.rs` finds them. Others make a new version of the format.

/// In place of a symbol's number: a byte as it is follows.
pub const LITERAL: u8 = u8::MAX;

/// The most bytes of a symbol.
pub const SYMBOL: usize = 8;

/// Bytes that are often together.
#[derive(Clone, Copy, Debug)]
pub struct Symbol {
    /// The first byte lowest; zeros after the last one.
    pub bytes: u64,
    /// How many these are.
    pub length: u8,
    /// Whether no other follows at once: the last byte is NUL, or this is [`LITERAL`].
    pub is_last: bool,
}

impl Symbol {
    /// A symbol of up to eight bytes.
    pub const fn of(text: &[u8]) -> Self {
        let (mut bytes, mut at) = (0, 0);
        while at < text.len() {
            bytes |= (text[at] as u64) << (8 * at);
            at += 1;
        }
        Self { bytes, length: text.len() as u8, is_last: matches!(text, [.., 0]) }
    }
}

/// By their numbers; nothing for [`LITERAL`].
pub static SYMBOLS: [Symbol; 256] = {
    let mut symbols = [Symbol::of(&[]); 256];
    symbols[LITERAL as usize].is_last = true;
    let mut at = 0;
    while at < TEXTS.len() {
        symbols[at] = Symbol::of(TEXTS[at]);
        at += 1;
    }
    symbols
};

#[rustfmt::skip]
const TEXTS: &[&[u8]] = &[
    b"\0", b" ", b"-", b".", b".0\0", b".c\0", b".cold\0", b".h\0", b"/", b"0", b"1", b"1\0", b"2", b"2\0", b"3", b"4",
    b"4\0", b"5", b"6", b"7", b"7Defaul", b"7default", b"8", b"9", b":", b">", b"A", b"B", b"C", b"D", b"E", b"F",
    b"G", b"H", b"I", b"K", b"L", b"M", b"N", b"NtB", b"NtNtCs2l", b"O", b"P", b"Q", b"R", b"S", b"T", b"U",
    b"V", b"W", b"X", b"Y", b"Z", b"Zg_4core", b"_", b"__", b"_a", b"_add", b"_b", b"_c", b"_d", b"_de", b"_e", b"_f",
    b"_in", b"_l", b"_m", b"_n", b"_p", b"_r", b"_re", b"_s", b"_sta", b"_t", b"a", b"able", b"able\0", b"ac", b"ad", b"al",
    b"an", b"ar", b"as", b"at", b"ate\0", b"ate_", b"b", b"bindings", b"bl", b"c", b"c\0", b"c_", b"ca", b"ce", b"ch", b"class\0",
    b"co", b"con", b"ct", b"d", b"d\0", b"d_", b"data", b"de", b"dev", b"di", b"e", b"e\0", b"e_", b"ed\0", b"en", b"er",
    b"er\0", b"es", b"even", b"ex", b"f", b"f\0", b"fi", b"g", b"g\0", b"g_", b"ge", b"ge\0", b"get_", b"group", b"h", b"h\0",
    b"handle", b"he", b"how\0", b"i", b"ic", b"id\0", b"in", b"info\0", b"ing\0", b"init\0", b"io", b"ion\0", b"is", b"it", b"it\0", b"j",
    b"k", b"k\0", b"k_", b"ke", b"l", b"l\0", b"l_", b"la", b"lags\0", b"le", b"le\0", b"lease\0", b"li", b"ll", b"lloc", b"lo",
    b"lock\0", b"m", b"m\0", b"m_", b"ma", b"map_", b"me", b"mi", b"mo", b"n", b"n\0", b"n_", b"name\0", b"nd", b"ne", b"no",
    b"nt", b"nt\0", b"o", b"o\0", b"oc", b"ock\0", b"ode\0", b"on", b"one\0", b"op", b"ops\0", b"or", b"ou", b"p", b"p\0", b"p_",
    b"pa", b"page", b"pe", b"port", b"pr", b"q", b"q\0", b"qu", b"queue\0", b"r", b"r\0", b"r_", b"ra", b"re", b"read", b"registe",
    b"ri", b"ro", b"rt", b"s", b"s\0", b"s_", b"se", b"set\0", b"set_", b"size\0", b"ss", b"st", b"st\0", b"stat", b"t", b"t\0",
    b"t7defaul", b"t_", b"ta", b"te", b"te\0", b"ter\0", b"ti", b"time", b"tion", b"to", b"tr", b"tr\0", b"type\0", b"u", b"un", b"up\0",
    b"update", b"us", b"ut", b"v", b"val", b"ve", b"w", b"write", b"write\0", b"x", b"x\0", b"y", b"y\0", b"y_", b"z",
];
