// libbpf's own decisions about CO-RE relocations, without a kernel that runs.
//
//     oracle OBJECT BTF [OBJECT BTF]...
//
// Compiled together with libbpf's sources: its loop over relocations (bpf_object__relocate_core) is repeated here, since
// it ends at the first failure; what it calls decides. One line a relocation:
//
//     FUNCTION RELO INSN applied NEW CODE OFF IMM IMM2 | FUNCTION RELO INSN poisoned | FUNCTION RELO INSN failed
//
//     oracle parts OBJECT...         one line for each function, map and extern as libbpf reads them
//     oracle sections NAME...        one line for each: the type of program, the attach type, whether it may sleep
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

static void parts(const char *path)
{
	struct bpf_object *obj = bpf_object__open_file(path, NULL);
	struct bpf_program *prog;
	struct bpf_map *map;
	int i;

	if (!obj) {
		printf("unopened\n");
		return;
	}
	printf("license %s\n", obj->license);
	for (i = 0; i < obj->nr_programs; i++) {
		prog = &obj->programs[i];
		printf("function %s %s %d %d %zu %zu\n", prog->name, prog->sec_name, prog->autoload,
		       prog_is_subprog(obj, prog), prog->sec_insn_off, prog->sec_insn_cnt);
	}
	bpf_object__for_each_map(map, obj)
		if (!bpf_map__is_internal(map) && !bpf_map__is_struct_ops(map))
			printf("map %s %u %u %u %u %d %d\n", map->name, map->def.type, map->def.key_size,
			       map->def.value_size, map->def.map_flags, map->btf_key_type_id,
			       map->btf_value_type_id);
	for (i = 0; i < obj->nr_extern; i++) {
		struct extern_desc *ext = &obj->externs[i];

		printf("extern %s %d %d %d\n", ext->name, ext->is_weak, ext->type == EXT_KCFG,
		       ext->type == EXT_KCFG ? (int)ext->kcfg.type : (int)ext->ksym.type_id);
	}
	bpf_object__close(obj);
}

static void section(const char *name)
{
	const struct bpf_sec_def *def = find_sec_def(name);

	if (def)
		printf("%d %d %d\n", def->prog_type, def->expected_attach_type, (def->cookie & SEC_SLEEPABLE) != 0);
	else
		printf("unknown\n");
}

int main(int argc, char **argv)
{
	int i;

	libbpf_set_print(quiet);
	for (i = 2; i < argc; i++)
		if (!strcmp(argv[1], "parts"))
			parts(argv[i]);
		else if (!strcmp(argv[1], "sections"))
			section(argv[i]);
	if (argc < 2 || !strcmp(argv[1], "parts") || !strcmp(argv[1], "sections"))
		return 0;
	for (i = 1; i + 1 < argc; i += 2)
		run(argv[i], argv[i + 1]);
	return 0;
}
