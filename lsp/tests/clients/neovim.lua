-- Neovim as an editor, headless: SCRIPT is a file of bpftrace, PROBEIDX the program, PROBEIDX_DB the index. Ends with 1 where an
-- answer is not what it has to be.
local function ends(ok, said)
  io.stdout:write(said .. "\n")
  vim.cmd(ok and "qa!" or "cq!")
end
local ok, said = pcall(function()
  vim.cmd("edit " .. os.getenv("SCRIPT"))
  local config = { name = "probeidx", cmd = { os.getenv("PROBEIDX"), "lsp" }, root_dir = vim.fn.getcwd() }
  if vim.lsp.start then
    vim.lsp.start(config)
  else -- before 0.8
    vim.lsp.buf_attach_client(0, vim.lsp.start_client(config))
  end
  assert(vim.wait(30000, function() return #vim.diagnostic.get(0) == 2 end, 20), "two findings")
  local first = vim.diagnostic.get(0)[1]
  -- Neovim counts bytes: four for the face.
  assert(first.col == 11 and first.end_col == 26, vim.inspect(first))
  local function ask(method, line, character)
    local params = { textDocument = { uri = vim.uri_from_bufnr(0) }, position = { line = line, character = character } }
    for _, answer in pairs(vim.lsp.buf_request_sync(0, method, params, 30000)) do return answer.result end
  end
  local last = vim.api.nvim_buf_line_count(0)
  vim.api.nvim_buf_set_lines(0, -1, -1, false, { "kprobe:vfs_rea" })
  local list = ask("textDocument/completion", last, 14)
  local offered = vim.lsp.util.text_document_completion_list_to_complete_items(list, "vfs_rea")
  assert(offered[1].word == "vfs_read", vim.inspect(offered))
  vim.lsp.util.apply_text_edits({ list.items[1].textEdit }, 0, "utf-16")
  assert(vim.api.nvim_buf_get_lines(0, last, -1, false)[1] == "kprobe:vfs_read")
  local hover = ask("textDocument/hover", last, 10)
  assert(hover.contents.value:find("kprobe ok"), vim.inspect(hover))
end)
ends(ok, ok and "Neovim agrees" or ("Neovim does not agree: " .. tostring(said)))
