// pass2 [--time|--list] INDEX [SCRIPT]: what the second pass of a compiler like SystemTap's does, with libprobeidx in the place of elfutils.
//
// A script is probes, one behind another:
//
//     probe kernel.function("vfs_read").call { print($file->f_mode, $count) }
//     probe kernel.statement("do_sys_openat2@fs/open.c:*") { print($how) }
//     probe kernel.trace("sched:sched_switch") { print($prev->pid) }
//     probe vm.brk { print(address, length) }
//
// Each becomes derived probes, one for each place: where it goes, whether the kernel takes it, and for each variable that the
// body uses the code that reads it; of a tapset's alias the locals that the body uses too. What cannot be derived is an error, with what the library says about it. --time says on
// stderr how long it took; --list prints instead what `stap -L` lists for the probes.
#include <probeidx.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

std::string text(const probeidx_text &t) { return std::string(t.text, t.length); }

// An index that is open as long as this is there.
class index {
public:
	explicit index(const char *path)
	{
		probeidx_error error{};
		error.size = sizeof error;
		if (probeidx_open(path, nullptr, &handle_, &error))
			throw std::runtime_error(std::string(error.place) + ": " + error.message + "; " + error.remedy);
	}
	~index() { probeidx_close(handle_); }
	index(const index &) = delete;
	index &operator=(const index &) = delete;
	probeidx_index *handle() const { return handle_; }

private:
	probeidx_index *handle_ = nullptr;
};

// A probe of the script: its point, the context variables that its body uses, and the other words of it.
struct probe {
	std::string point;
	std::vector<std::string> variables;
	std::vector<std::string> words;
};

// A place of a probe, with what is to be generated for it.
struct derived {
	std::string anchor;
	std::string where;
	std::string verdict;
	std::vector<std::string> reads;
};

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// `$file->f_path->dentry`, `$table[1]`: from the dollar on; SystemTap writes every step as an arrow.
std::string variable(const std::string &body, size_t &at)
{
	size_t start = at++;
	while (at < body.size()) {
		if (is_of_name(body[at]))
			at++;
		else if (body.compare(at, 2, "->") == 0 && at + 2 < body.size() && is_of_name(body[at + 2]))
			at += 2;
		else if (body[at] == '[' && body.find(']', at) != std::string::npos)
			at = body.find(']', at) + 1;
		else
			break;
	}
	return body.substr(start, at - start);
}

std::string word(const std::string &body, size_t &at)
{
	size_t start = at;
	while (at < body.size() && is_of_name(body[at]))
		at++;
	return body.substr(start, at - start);
}

std::vector<probe> parse(const std::string &script)
{
	std::vector<probe> probes;
	size_t at = 0;
	while ((at = script.find("probe ", at)) != std::string::npos) {
		size_t open = script.find('{', at), close = script.find('}', open);
		if (close == std::string::npos)
			throw std::runtime_error("a probe without a body");
		probe p;
		p.point = script.substr(at + 6, open - at - 6);
		p.point.erase(p.point.find_last_not_of(" \t\n") + 1);
		std::string body = script.substr(open + 1, close - open - 1);
		for (size_t i = 0; i < body.size();)
			if (body[i] == '$' && i + 1 < body.size() && is_of_name(body[i + 1]))
				p.variables.push_back(variable(body, i));
			else if (is_of_name(body[i]))
				p.words.push_back(word(body, i));
			else
				i++;
		probes.push_back(std::move(p));
		at = close;
	}
	return probes;
}

// The code that reads a value: what the translator would write into the module.
std::string code(const probeidx_value &value)
{
	std::string code;
	for (size_t i = 0; i < value.step_count; i++) {
		const probeidx_step &step = value.steps[i];
		const std::string number = std::to_string(step.value);
		switch (step.op) {
		case PROBEIDX_REGISTER: code += "v = regs->" + text(step.name) + "; "; break;
		case PROBEIDX_CONSTANT: code += "v = " + number + "; "; break;
		case PROBEIDX_ADDRESS: code += "v = relocated(" + number + "); "; break;
		case PROBEIDX_RETURNED: code += "v = regs_return_value(regs); "; break;
		case PROBEIDX_PASSED: code += "v = saved_argument(" + number + "); "; break;
		case PROBEIDX_ADD: code += "v += " + number + "; "; break;
		case PROBEIDX_READ: code += "v = kread" + std::to_string(step.size * 8) + "(v); "; break;
		case PROBEIDX_READ_USER: code += "v = uread" + std::to_string(step.size * 8) + "(v); "; break;
		case PROBEIDX_BITS: code += "v = bits(v, " + number + ", " + std::to_string(step.size) + "); "; break;
		case PROBEIDX_BITS_SIGNED: code += "v = sbits(v, " + number + ", " + std::to_string(step.size) + "); "; break;
		case PROBEIDX_IN_PLACE: code += "/* at v */ "; break;
		default: return "/* a step of a later version */";
		}
	}
	return code;
}

// What an alias gives to the body, where that uses it.
std::string local(const probeidx_local &l)
{
	const std::string head = text(l.name) + ": " + text(l.type) + ": ";
	switch (l.state) {
	case PROBEIDX_BROKEN: return head + "error: " + text(l.variable) + ": " + text(l.why);
	case PROBEIDX_UNTYPED: return head + "error: nothing tells its type";
	default: return head + (l.copy_of.length ? text(l.copy_of) : "by the prologue");
	}
}

derived derive(const probeidx_placement &p, const probe &asked)
{
	derived d;
	switch (p.instance) {
	case PROBEIDX_TRACEPOINT: d.anchor = "trace " + text(p.tracepoint->system) + ":" + text(p.function); break;
	case PROBEIDX_NOWHERE: d.anchor = "no place"; break;
	case PROBEIDX_UNINDEXED: d.anchor = "not in the index"; break;
	default: d.anchor = text(p.anchor);
	}
	if (p.function.length)
		d.where = text(p.function) + "@" + text(p.file) + ":" + std::to_string(p.line);
	if (p.alias) {
		d.where += " by " + text(p.alias->name) + " of " + text(p.alias->point);
		for (size_t i = 0; i < p.alias->local_count; i++) {
			const probeidx_local &l = *p.alias->locals[i];
			if (std::find(asked.words.begin(), asked.words.end(), text(l.name)) != asked.words.end())
				d.reads.push_back(local(l));
		}
	}
	for (size_t i = 0; i < p.inlined_into_count; i++)
		d.where += " < " + text(p.inlined_into[i]->function);
	// Verdicts are of code: a tracepoint is registered, and what is no place of the kernel needs none.
	const bool is_code = p.instance < PROBEIDX_TRACEPOINT;
	d.verdict = is_code ? text(probeidx_verdict_name(p.flags & PROBEIDX_IS_RETURN ? p.kretprobe : p.kprobe)) : "ok";
	for (size_t i = 0; i < p.value_count; i++) {
		const probeidx_value &v = *p.values[i];
		if (!v.is_asked)
			continue;
		const bool known = v.step_count > 0;
		const std::string why = v.location.length ? text(v.location) : text(probeidx_state_name(v.state));
		d.reads.push_back(text(v.name) + ": " + text(v.type) + ": " + (known ? code(v) : "not here: " + why));
	}
	return d;
}

struct collected {
	const probe &asked;
	std::vector<derived> found;
};

// Only a matching exception specification is needed to be called from C: nothing is thrown through the library.
extern "C" int32_t each(void *context, const probeidx_placement *placement) noexcept
{
	try {
		collected &all = *static_cast<collected *>(context);
		all.found.push_back(derive(*placement, all.asked));
		return 0;
	} catch (...) {
		return 1;
	}
}

// The places of a probe; an empty reason if there are any.
std::vector<derived> resolve(const index &i, const probe &p, std::string &why)
{
	std::vector<const char *> arguments;
	for (const std::string &v : p.variables)
		arguments.push_back(v.c_str());
	collected all{p, {}};
	probeidx_error error{};
	error.size = sizeof error;
	if (probeidx_resolve(i.handle(), p.point.c_str(), arguments.data(), arguments.size(), nullptr, each, &all, &error))
		why = std::string(error.message) + (error.remedy[0] ? std::string("; ") + error.remedy : "");
	return std::move(all.found);
}

// A line as `stap -L` prints it.
extern "C" int32_t each_line(void *context, const probeidx_text *line) noexcept
{
	try {
		*static_cast<std::ostream *>(context) << text(*line) << "\n";
		return 0;
	} catch (...) {
		return 1;
	}
}

void list(const index &i, const std::vector<probe> &probes)
{
	// What matches nothing lists nothing.
	for (const probe &p : probes)
		probeidx_find(i.handle(), p.point.c_str(), PROBEIDX_FIND_ARGS, each_line, &std::cout, nullptr);
}

} // namespace

int main(int argc, char **argv)
try {
	const std::string_view option = argc > 1 ? argv[1] : "";
	const bool timed = option == "--time", listed = option == "--list";
	argv += timed || listed, argc -= timed || listed;
	if (argc < 2) {
		std::cerr << "usage: pass2 [--time|--list] INDEX [SCRIPT]\n";
		return 2;
	}
	std::ifstream file;
	if (argc > 2)
		file.open(argv[2]);
	std::istream &in = argc > 2 ? file : std::cin;
	const std::string script((std::istreambuf_iterator<char>(in)), {});

	const auto start = std::chrono::steady_clock::now();
	const index i(argv[1]);
	if (listed) {
		list(i, parse(script));
		return 0;
	}
	std::ostringstream out;
	size_t failed = 0, places = 0, probes = 0;
	for (const probe &p : parse(script)) {
		std::string why;
		const std::vector<derived> found = resolve(i, p, why);
		probes++, places += found.size();
		out << "# " << p.point << "\n";
		if (!why.empty()) {
			failed++;
			out << "error: " << why << "\n";
		}
		for (const derived &d : found) {
			out << d.anchor << " " << d.verdict << " " << d.where << "\n";
			for (const std::string &read : d.reads)
				out << "    " << read << "\n";
		}
	}
	const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
	std::cout << out.str();
	if (timed)
		std::cerr << probes << " probes, " << places << " places, " << took.count() << " us\n";
	return failed ? 1 : 0;
} catch (const std::exception &e) {
	std::cerr << "pass2: " << e.what() << "\n";
	return 3;
}
