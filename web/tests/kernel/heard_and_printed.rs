//! Pages for those who do not see them or do not use a mouse, and pages on paper.
use super::{Explored, PAGES, TAB, pictures};

#[test]
fn those_who_hear_or_print_a_page_have_all_of_it() {
    let Some(explored) = Explored::new() else { return };
    let browser = &explored.browser;
    // What is operated or stands for something has a name.
    const NAMED: [&str; 16] = [
        "button",
        "link",
        "textbox",
        "searchbox",
        "combobox",
        "checkbox",
        "image",
        "listbox",
        "grid",
        "table",
        "region",
        "navigation",
        "form",
        "search",
        "option",
        "DisclosureTriangle",
    ];
    let pasted = [("log", "/log?kernel=KERNEL"), ("script", "/script")];
    for (name, path) in PAGES.iter().map(|(name, path, _)| (*name, *path)).chain(pasted) {
        explored.open(path);
        let told = browser.told();
        let is_unnamed = |(role, name): &&(String, String)| NAMED.contains(&role.as_str()) && name.is_empty();
        let unnamed: Vec<_> = told.iter().filter(is_unnamed).collect();
        assert!(unnamed.is_empty(), "{name}: {unnamed:?}");
        for landmark in ["banner", "search", "navigation", "main"] {
            let count = told.iter().filter(|(role, _)| role == landmark).count();
            assert_eq!(count, 1, "{name}: {landmark}");
        }
        let levels: Vec<u8> =
            told.iter().filter_map(|(role, _)| role.strip_prefix("heading")?.parse().ok()).collect();
        assert_eq!(levels.first(), Some(&1), "{name}");
        assert!(levels.windows(2).all(|two| two[1] <= two[0] + 1), "{name}: {levels:?}");
        // The keyboard gets into the page, and what it is at is seen.
        browser.value("(document.activeElement.blur(), scrollTo(0, 0))");
        let mut reached = 0;
        for _ in 0..14 {
            browser.press(&TAB.to_string());
            let seen = "(() => { const at = document.activeElement; if (at === document.body) return null;
                return (getComputedStyle(at).outlineStyle !== 'none' || at.id === 'q') && at.tabIndex >= 0; })()";
            let seen = browser.value(seen);
            assert_ne!(seen, false, "{name}: {}", browser.text("document.activeElement.outerHTML"));
            reached += u32::from(seen == true);
        }
        assert!(reached > 9, "{name}: {reached}");
        assert_eq!(browser.complaints(), [""; 0], "{name}");
    }
    for name in ["function", "code", "type"] {
        let (_, path, _) = PAGES.iter().find(|page| page.0 == name).unwrap();
        explored.open(path);
        let rows = browser.value("document.querySelectorAll('.code-row').length").as_u64();
        browser.value("addEventListener('beforeprint', () => (window.printedRows = document.querySelectorAll('.code-row').length), { once: true })");
        let pdf = browser.printed();
        assert!(pdf.starts_with(b"%PDF") && pdf.len() > 10_000, "{name}");
        std::fs::write(pictures().join(format!("{name}.pdf")), pdf).unwrap();
        if name == "code" {
            // All rows are printed, not those alone that were seen.
            browser.until("window.printedRows !== undefined");
            assert!(browser.value("window.printedRows").as_u64() > rows);
        }
    }
    explored.open("/function?kernel=KERNEL&spec=vfs_read");
    browser.devtools("Emulation.setEmulatedMedia", &serde_json::json!({"media": "print"}));
    for (kept, selector) in
        [(true, "button.copy"), (true, ".inside table"), (false, "header"), (false, ".buttons")]
    {
        let shown =
            browser.value(&format!("document.querySelector('{selector}').getClientRects().length > 0"));
        assert_eq!(shown, kept, "{selector}");
    }
}
