//! For which programs kfuncs are registered (`register_btf_kfunc_id_set`), as measured.
//!
//! Each kfunc was called from a program of each kind, on booted kernels of Debian for x86-64: 6.1.0-56, 6.12.118, 7.2.12 and
//! 7.3.4. Where it is not for the kind, the verifier says "calling kernel function … is not allowed".

/// The release lines that were measured, ascending.
pub(super) const LINES: [(u32, u32); 4] = [(6, 1), (6, 12), (7, 2), (7, 3)];

/// The kinds of programs, by bit.
#[rustfmt::skip]
pub(super) const KINDS: [&str; 28] = [
    "kprobe", "tracepoint", "raw_tp", "perf_event", "tp_btf", "fentry", "iter", "lsm", "syscall", "socket", "tc",
    "action", "xdp", "cgroup_skb", "cgroup_sock", "sock_addr", "cgroup_dev", "sockopt", "sysctl", "sockops", "sk_skb",
    "sk_msg", "sk_lookup", "reuseport", "dissector", "lwt_out", "netfilter", "struct_ops",
];

/// The kernel does not have it.
pub(super) const NONE: u32 = u32::MAX;

/// Those that sleep: for programs that may.
pub(super) const SLEEPING: &str = "bpf_copy_from_user_dynptr bpf_copy_from_user_str bpf_copy_from_user_str_dynptr bpf_copy_from_user_task_dynptr \
    bpf_copy_from_user_task_str bpf_copy_from_user_task_str_dynptr bpf_get_dentry_xattr bpf_get_file_xattr \
    bpf_iter_dmabuf_destroy bpf_iter_dmabuf_new bpf_iter_dmabuf_next bpf_iter_kmem_cache_destroy bpf_iter_kmem_cache_new \
    bpf_iter_kmem_cache_next bpf_ksock_send bpf_lookup_user_key bpf_mem_cgroup_flush_stats bpf_real_data_inode \
    bpf_remove_dentry_xattr bpf_set_dentry_xattr bpf_verify_pkcs7_signature css_rstat_flush";

/// For which kinds, on each of the kernels, and the names. What is for no kind that was measured is for tables of struct_ops.
#[rustfmt::skip]
pub(super) const ROWS: [([u32; 4], &str); 40] = [
    ([NONE, NONE, 0xfffffff, 0xfffffff],
        "__bpf_trap bpf_arena_reserve_pages bpf_cgroup_read_xattr bpf_copy_from_user_dynptr bpf_copy_from_user_str_dynptr \
         bpf_copy_from_user_task_dynptr bpf_copy_from_user_task_str bpf_copy_from_user_task_str_dynptr bpf_dynptr_copy \
         bpf_dynptr_file_discard bpf_dynptr_from_file bpf_dynptr_memset bpf_get_kmem_cache bpf_get_mem_cgroup \
         bpf_get_root_mem_cgroup bpf_iter_dmabuf_destroy bpf_iter_dmabuf_new bpf_iter_dmabuf_next bpf_iter_kmem_cache_destroy \
         bpf_iter_kmem_cache_new bpf_iter_kmem_cache_next bpf_local_irq_restore bpf_local_irq_save bpf_mem_cgroup_flush_stats \
         bpf_mem_cgroup_memory_events bpf_mem_cgroup_page_state bpf_mem_cgroup_usage bpf_mem_cgroup_vm_events \
         bpf_probe_read_kernel_dynptr bpf_probe_read_kernel_str_dynptr bpf_probe_read_user_dynptr \
         bpf_probe_read_user_str_dynptr bpf_put_mem_cgroup bpf_res_spin_lock bpf_res_spin_lock_irqsave bpf_res_spin_unlock \
         bpf_res_spin_unlock_irqrestore bpf_strcasecmp bpf_strcasestr bpf_strchr bpf_strchrnul bpf_strcmp bpf_strcspn \
         bpf_stream_print_stack bpf_stream_vprintk bpf_strlen bpf_strncasecmp bpf_strncasestr bpf_strnchr bpf_strnlen \
         bpf_strnstr bpf_strrchr bpf_strspn bpf_strstr bpf_task_work_schedule_resume bpf_task_work_schedule_signal \
         bpf_timer_cancel_async bpf_wq_set_callback"),
    ([NONE, NONE, 0x0000000, 0x0000000],
        "__scx_bpf_dsq_insert_vtime bpf_kfree_skb bpf_qdisc_bstats_update bpf_qdisc_init_prologue \
         bpf_qdisc_reset_destroy_epilogue bpf_qdisc_skb_drop bpf_qdisc_watchdog_schedule bpf_skb_get_hash \
         scx_bpf_dispatch_cancel scx_bpf_dispatch_nr_slots scx_bpf_dsq_insert scx_bpf_dsq_insert_vtime \
         scx_bpf_dsq_move_to_local scx_bpf_dsq_move_to_local___v2 scx_bpf_reenqueue_local scx_bpf_sub_dispatch"),
    ([NONE, NONE, 0x0000100, 0x0000100],
        "__scx_bpf_select_cpu_and bpf_wakeup_sources_get_head bpf_wakeup_sources_read_lock bpf_wakeup_sources_read_unlock \
         scx_bpf_dsq_move scx_bpf_dsq_move_set_slice scx_bpf_dsq_move_set_vtime scx_bpf_dsq_move_vtime scx_bpf_select_cpu_and \
         scx_bpf_select_cpu_dfl"),
    ([NONE, 0xfffffff, 0xfffffff, 0xfffffff],
        "bpf_arena_alloc_pages bpf_arena_free_pages bpf_cast_to_kern_ctx bpf_copy_from_user_str bpf_dynptr_adjust \
         bpf_dynptr_clone bpf_dynptr_is_null bpf_dynptr_is_rdonly bpf_dynptr_size bpf_dynptr_slice bpf_dynptr_slice_rdwr \
         bpf_iter_bits_destroy bpf_iter_bits_new bpf_iter_bits_next bpf_iter_css_destroy bpf_iter_css_new bpf_iter_css_next \
         bpf_iter_css_task_destroy bpf_iter_css_task_new bpf_iter_css_task_next bpf_iter_num_destroy bpf_iter_num_new \
         bpf_iter_num_next bpf_iter_task_destroy bpf_iter_task_new bpf_iter_task_next bpf_iter_task_vma_destroy \
         bpf_iter_task_vma_new bpf_iter_task_vma_next bpf_map_sum_elem_count bpf_preempt_disable bpf_preempt_enable \
         bpf_rcu_read_lock bpf_rcu_read_unlock bpf_rdonly_cast bpf_wq_init bpf_wq_start bpf_xdp_metadata_rx_hash \
         bpf_xdp_metadata_rx_timestamp bpf_xdp_metadata_rx_vlan_tag"),
    ([NONE, 0x807f5fa, 0x80ff5fe, 0x80ff5fe],
        "bpf_cgroup_acquire bpf_cgroup_ancestor bpf_cgroup_from_id bpf_cgroup_release bpf_list_pop_back bpf_list_pop_front \
         bpf_list_push_back_impl bpf_list_push_front_impl bpf_obj_drop_impl bpf_obj_new_impl bpf_percpu_obj_drop_impl \
         bpf_percpu_obj_new_impl bpf_rbtree_add_impl bpf_rbtree_first bpf_rbtree_remove bpf_refcount_acquire_impl \
         bpf_task_acquire bpf_task_from_pid bpf_task_get_cgroup1 bpf_task_release bpf_task_under_cgroup bpf_throw"),
    ([NONE, 0x80001fa, 0x80001fe, 0x80001fe],
        "bpf_cpumask_acquire bpf_cpumask_and bpf_cpumask_any_and_distribute bpf_cpumask_any_distribute bpf_cpumask_clear \
         bpf_cpumask_clear_cpu bpf_cpumask_copy bpf_cpumask_create bpf_cpumask_empty bpf_cpumask_equal bpf_cpumask_first \
         bpf_cpumask_first_and bpf_cpumask_first_zero bpf_cpumask_full bpf_cpumask_intersects bpf_cpumask_or \
         bpf_cpumask_release bpf_cpumask_set_cpu bpf_cpumask_setall bpf_cpumask_subset bpf_cpumask_test_and_clear_cpu \
         bpf_cpumask_test_and_set_cpu bpf_cpumask_test_cpu bpf_cpumask_weight bpf_cpumask_xor"),
    ([NONE, NONE, 0x80001fe, 0x80001fe],
        "bpf_cpumask_populate"),
    ([NONE, 0x0000100, 0x0000100, 0x0000100],
        "bpf_crypto_ctx_acquire bpf_crypto_ctx_create bpf_crypto_ctx_release"),
    ([NONE, 0x0001c00, 0x0001c00, 0x0001c00],
        "bpf_crypto_decrypt bpf_crypto_encrypt"),
    ([NONE, 0x617eefa, 0x61feefe, 0x61feefe],
        "bpf_dynptr_from_skb"),
    ([NONE, NONE, 0x0000c00, 0x0000c00],
        "bpf_dynptr_from_skb_meta"),
    ([NONE, 0x0001000, 0x0001000, 0x0001000],
        "bpf_dynptr_from_xdp bpf_xdp_get_xfrm_state bpf_xdp_xfrm_state_release"),
    ([NONE, 0x0000080, 0x0000080, 0x0000080],
        "bpf_get_dentry_xattr bpf_get_file_xattr bpf_get_fsverity_digest bpf_get_task_exe_file bpf_path_d_path bpf_put_file"),
    ([NONE, NONE, NONE, 0x00fe000],
        "bpf_icmp_send"),
    ([NONE, NONE, 0x8000000, 0x8000000],
        "bpf_io_uring_get_region bpf_io_uring_submit_sqes cubictcp_cwnd_event_tx_start scx_bpf_dsq_insert___v2"),
    ([NONE, NONE, 0x00001fe, 0x00001fe],
        "bpf_iter_scx_dsq_destroy bpf_iter_scx_dsq_next scx_bpf_cidperf_cap scx_bpf_cidperf_cur scx_bpf_cidperf_set \
         scx_bpf_cpu_curr scx_bpf_cpu_node scx_bpf_dsq_nr_queued scx_bpf_dsq_peek scx_bpf_dsq_reenq scx_bpf_dump_bstr \
         scx_bpf_events scx_bpf_exit_bstr scx_bpf_get_idle_cpumask scx_bpf_get_online_cpumask scx_bpf_get_possible_cpumask \
         scx_bpf_now scx_bpf_nr_cids scx_bpf_nr_cpu_ids scx_bpf_nr_node_ids scx_bpf_nr_online_cids scx_bpf_put_cpumask \
         scx_bpf_put_idle_cpumask scx_bpf_reenqueue_local___v2 scx_bpf_task_cgroup scx_bpf_task_cid scx_bpf_task_cpu \
         scx_bpf_task_running scx_bpf_task_set_slice scx_bpf_test_and_clear_cpu_idle scx_bpf_this_cid scx_bpf_tid_to_task"),
    ([NONE, NONE, 0x80001fe, 0x00001fe],
        "bpf_iter_scx_dsq_new scx_bpf_cid_curr scx_bpf_cid_to_cpu scx_bpf_cid_topo scx_bpf_cpu_to_cid scx_bpf_cpuperf_cap \
         scx_bpf_cpuperf_cur scx_bpf_cpuperf_set scx_bpf_destroy_dsq scx_bpf_error_bstr scx_bpf_get_idle_cpumask_node \
         scx_bpf_get_idle_smtmask scx_bpf_get_idle_smtmask_node scx_bpf_kick_cid scx_bpf_kick_cpu scx_bpf_locked_rq \
         scx_bpf_pick_any_cpu scx_bpf_pick_any_cpu_node scx_bpf_pick_idle_cpu scx_bpf_pick_idle_cpu_node \
         scx_bpf_task_set_dsq_vtime"),
    ([0x00000f0, 0x00000fa, 0x80ff5fe, 0x80ff5fe],
        "bpf_key_put bpf_lookup_system_key bpf_lookup_user_key bpf_verify_pkcs7_signature"),
    ([NONE, NONE, NONE, 0x0000180],
        "bpf_ksock_acquire bpf_ksock_release bpf_ksock_send"),
    ([NONE, NONE, NONE, 0x0000100],
        "bpf_ksock_connect bpf_ksock_create"),
    ([NONE, NONE, 0x80ff5fe, 0x80ff5fe],
        "bpf_list_add bpf_list_back bpf_list_del bpf_list_empty bpf_list_front bpf_list_is_first bpf_list_is_last \
         bpf_list_push_back bpf_list_push_front bpf_obj_drop bpf_obj_new bpf_percpu_obj_drop bpf_percpu_obj_new \
         bpf_rbtree_add bpf_rbtree_left bpf_rbtree_right bpf_rbtree_root bpf_refcount_acquire bpf_send_signal_task \
         bpf_task_from_vpid"),
    ([NONE, NONE, 0x0000080, 0x0000080],
        "bpf_real_data_inode bpf_remove_dentry_xattr bpf_set_dentry_xattr"),
    ([NONE, 0x0000000, 0x0000000, 0x0000000],
        "bpf_session_cookie bpf_session_is_return"),
    ([NONE, 0x0000400, 0x0000400, 0x0000400],
        "bpf_sk_assign_tcp_reqsk"),
    ([NONE, 0x007e000, 0x00fe000, 0x00fe000],
        "bpf_sock_addr_set_sun_path"),
    ([NONE, 0x0000040, 0x0000040, 0x0000040],
        "bpf_sock_destroy"),
    ([NONE, NONE, 0x00fe000, 0x00fe000],
        "bpf_sock_ops_enable_tx_tstamp"),
    ([NONE, NONE, NONE, 0x0000080],
        "bpf_sock_read_xattr"),
    ([NONE, 0xfffffff, 0xfffffff, NONE],
        "bpf_wq_set_callback_impl"),
    ([NONE, NONE, 0x0001000, 0x0001000],
        "bpf_xdp_pull_data"),
    ([0x00000f0, 0x00000fa, NONE, NONE],
        "cgroup_rstat_flush cgroup_rstat_updated"),
    ([0x00000f0, 0x807f5fa, 0x80ff5fe, 0x80ff5fe],
        "crash_kexec"),
    ([NONE, NONE, 0x00000fe, 0x00000fe],
        "css_rstat_flush css_rstat_updated"),
    ([0x8000000, 0x8000000, 0x8000000, 0x8000000],
        "cubictcp_acked cubictcp_cong_avoid cubictcp_init cubictcp_recalc_ssthresh cubictcp_state tcp_cong_avoid_ai \
         tcp_reno_cong_avoid tcp_reno_ssthresh tcp_reno_undo_cwnd tcp_slow_start"),
    ([0x8000000, 0x8000000, NONE, NONE],
        "cubictcp_cwnd_event"),
    ([NONE, NONE, 0x0000000, 0xfffffff],
        "scx_bpf_cid_override"),
    ([NONE, NONE, 0x80001fe, NONE],
        "scx_bpf_cpu_rq"),
    ([NONE, NONE, 0x8000100, 0x0000100],
        "scx_bpf_create_dsq"),
    ([NONE, NONE, NONE, 0x00001fe],
        "scx_bpf_online_cmask scx_bpf_sub_kill_bstr"),
    ([NONE, NONE, NONE, 0xfffffff],
        "scx_bpf_sub_caps scx_bpf_sub_grant scx_bpf_sub_revoke"),
];
