use super::*;

/// Every thread has work as soon as there is a group of lanes for each, and a full group in each
/// piece but the last.
#[test]
fn pieces_are_for_all_threads_and_of_full_lanes() {
    for threads in 1..=5 {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().expect("a few threads");
        for backend in Backend::available() {
            let lanes = with_engine!(backend, e => states(e));
            for jobs in (0..200).chain([1000, 9999, 100_000]) {
                let size = pool.install(|| piece(jobs, lanes));
                assert!(size >= lanes && size.is_multiple_of(lanes));
                let pieces = jobs.div_ceil(size);
                assert!(pieces <= PIECES * threads, "{jobs} jobs, {threads} threads");
                if jobs >= JOBS * lanes * PIECES * threads {
                    assert!(
                        pieces > (PIECES - 1) * threads,
                        "{jobs} jobs, {threads} threads"
                    );
                }
                // A thread's share, but for the lanes that this fills.
                assert!(size < jobs.div_ceil(threads).max(1) + lanes);
            }
        }
    }
}
