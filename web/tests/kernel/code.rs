//! The code of functions: walked by keyboard, and compared with what objdump reads.
use super::{DOWN, END, ENTER, Explored, HOME, UP};

#[test]
fn code_is_walked_by_keyboard_and_each_address_can_be_kept() {
    let Some(explored) = Explored::new() else { return };
    let browser = &explored.browser;
    explored.open("/function?kernel=KERNEL&spec=do_open");
    browser.value("document.querySelector('dd a[href^=\"/code\"]').click()");
    browser.until("document.querySelectorAll('.code-row').length > 10");
    // An inlined copy is shown in the function that has it.
    assert_eq!(browser.text("document.querySelector('main h1 a').textContent"), "path_openat");
    assert!(browser.text("document.querySelector('.here .chain')?.innerText ?? ''").contains("do_open"));
    explored.has("p:probeidx/do_open");
    for wanted in ["rect.ribbon.register", "path.bracket", ".spine", ".code-row .verdict.ok"] {
        assert!(
            browser
                .value(&format!("document.querySelectorAll('svg.pictures {wanted}, {wanted}').length"))
                .as_u64()
                > Some(0),
            "{wanted}"
        );
    }
    let chosen = || browser.text("document.querySelector('.here h2 code').textContent");
    let first = chosen();
    browser.press(&DOWN.to_string());
    let second = chosen();
    assert_ne!(first, second);
    let kept = browser.text("location.href");
    // What is chosen is at that address, for whoever opens it, and what can be read there is what resolve says.
    browser.open(&kept);
    browser.until(&format!("document.querySelector('.here h2 code')?.textContent === '{second}'"));
    browser.press(&ENTER.to_string());
    browser.until("document.querySelector('.here dd button.copy') !== null");
    browser.press(&UP.to_string());
    assert_eq!(chosen(), first);
    browser.press(&END.to_string());
    let end = chosen();
    assert_ne!(end, first);
    let height = "document.querySelector('.listing').scrollTop + document.querySelector('.listing').clientHeight > document.querySelector('.listing').scrollHeight - 60";
    browser.until(height);
    browser.press(&HOME.to_string());
    assert_eq!(chosen(), "path_openat+0x0");
    // Only what is seen is drawn.
    assert!(browser.value("document.querySelectorAll('.code-row').length").as_u64() < Some(200));
    if browser.value("document.querySelectorAll('.code-row .text a').length").as_u64() > Some(0) {
        browser.value("document.querySelector('.code-row .text a').click()");
        browser.until("document.querySelector('.here h2 code') !== null");
        browser.back();
        browser.until("document.querySelector('main h1 a')?.textContent === 'path_openat'");
    }
    assert_eq!(browser.complaints(), [""; 0]);
}

#[test]
fn instructions_are_those_of_objdump() {
    let Some(explored) = Explored::new() else { return };
    let mut compared = 0;
    for function in ["vfs_read", "tcp_v4_rcv", "do_sys_openat2", "kmem_cache_alloc"] {
        let asked = format!("/api/instructions?kernel={}&at={function}", explored.kernel.replace('+', "%2b"));
        let items = explored.program.get(&asked).items();
        let Some(from) = items.first().and_then(|item| item["from"].as_str()) else {
            return eprintln!("skipped: the code of {} is not on this machine", explored.kernel);
        };
        let words = ["-d", "--no-show-raw-insn", &format!("--disassemble={function}"), from];
        let Ok(ran) = std::process::Command::new("objdump").args(words).output() else {
            return eprintln!("skipped: no objdump");
        };
        // `ffffffff8134cc55:	push   %r15`. A boot image is nothing that it reads.
        let text = String::from_utf8_lossy(&ran.stdout);
        let rows = text.lines().filter_map(|line| line.split_once(":\t"));
        let rows = rows.filter_map(|(at, text)| Some((u64::from_str_radix(at.trim(), 16).ok()?, text)));
        let rows: Vec<(u64, &str)> = rows.collect();
        let Some((base, _)) = rows.first() else { continue };
        for (at, text) in &rows {
            let own = items.iter().find(|item| item["at"].as_u64() == Some(at - base));
            let own =
                own.unwrap_or_else(|| panic!("{function}: {at:#x}"))["text"].as_str().unwrap_or_default();
            assert_eq!(
                own.split(' ').next(),
                text.split_whitespace().next(),
                "{function}: {at:#x}: {own}, {text}"
            );
            compared += 1;
        }
    }
    eprintln!("{compared} instructions");
}
