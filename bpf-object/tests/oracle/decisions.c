// libbpf's own decisions about CO-RE relocations, without a kernel that runs.
//
//     oracle OBJECT BTF [OBJECT BTF]...
//
// Compiled together with libbpf's sources: its loop over relocations (bpf_object__relocate_core) is repeated here, since
// it ends at the first failure; what it calls decides. One line a relocation:
//
//     FUNCTION RELO INSN applied NEW CODE OFF IMM IMM2 | FUNCTION RELO INSN poisoned | FUNCTION RELO INSN failed
#include "libbpf.c"

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	return 0;
}

static void decide(struct bpf_object *obj, struct hashmap *cache, struct bpf_program *prog,
		   const struct bpf_core_relo *rec, int number, int insn_idx)
{
	struct bpf_core_relo_res res;
	struct bpf_insn *insn = &prog->insns[insn_idx];
	int wide = is_ldimm64_insn(insn);

	printf("%s %d %d ", prog->name, number, insn_idx);
	if (bpf_core_resolve_relo(prog, rec, number, obj->btf, cache, &res) ||
	    bpf_core_patch_insn(prog->name, insn, insn_idx, rec, number, &res))
		printf("failed\n");
	else if (insn->code == (BPF_JMP | BPF_CALL) && insn->imm == 195896080)
		printf("poisoned\n");
	else
		printf("applied %llu %d %d %d %d\n", (unsigned long long)res.new_val, insn->code, insn->off,
		       insn->imm, wide ? insn[1].imm : 0);
}

static int run(const char *path, const char *btf_path)
{
	const struct btf_ext_info *seg;
	const struct btf_ext_info_sec *sec;
	const struct bpf_core_relo *rec;
	struct hashmap *cache = hashmap__new(bpf_core_hash_fn, bpf_core_equal_fn, NULL);
	struct bpf_object *obj = bpf_object__open_file(path, NULL);
	int pass, i, number;

	printf("object %s\n", path);
	if (!obj)
		return printf("unopened\n");
	if (!obj->btf_ext)
		return 0;
	obj->btf_vmlinux_override = btf__parse(btf_path, NULL);
	if (!obj->btf_vmlinux_override)
		return printf("no btf\n");
	seg = &obj->btf_ext->core_relo_info;
	for (pass = 1; pass >= 0; pass--) {
		number = 0;
		for_each_btf_ext_sec(seg, sec) {
			int section = seg->sec_idxs[number++];

			for_each_btf_ext_rec(seg, sec, i, rec) {
				int insn_idx = rec->insn_off / BPF_INSN_SZ;
				struct bpf_program *prog = find_prog_by_sec_insn(obj, section, insn_idx);

				if (prog && prog->autoload == pass)
					decide(obj, cache, prog, rec, i, insn_idx - prog->sec_insn_off);
			}
		}
	}
	bpf_object__close(obj);
	return 0;
}

int main(int argc, char **argv)
{
	int i;

	libbpf_set_print(quiet);
	for (i = 1; i + 1 < argc; i += 2)
		run(argv[i], argv[i + 1]);
	return 0;
}
