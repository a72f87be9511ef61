import java.util.List;
import java.util.Map;

/**
 * One implementation with one backend and one key form, as it is announced.
 *
 * @param language the implementation's own, or null where it is Java
 * @param sets     the names of its parameter sets
 * @param rnd      what `rnd` of the protocol says: given or none
 * @param warmup   ns for the just-in-time compiler in a new process, before anything is measured
 * @param scheme   performs its operations
 */
record Variant(
        String implementation, String version, String language, String backend, String key, String family,
        List<String> sets, List<String> operations, String rnd, boolean context, List<String> privateKeys,
        long warmup, String note, Scheme scheme) {

    String id() {
        return implementation + ":" + backend + ":" + key;
    }

    /** Prepares inputs. */
    interface Scheme {
        /**
         * Does everything that is not timed. `in` has the fields that the operation needs, and no
         * others than the protocol's. An exception is the failure of this input.
         */
        Operation prepare(String set, String operation, Map<String, byte[]> in) throws Exception;
    }

    /** One prepared input. */
    interface Operation {
        /** The timed call. It gives the public key, the signature, the verdict, the ciphertext or the secret. */
        byte[] run() throws Exception;

        /** The output of the protocol from what the last run gave; made after the clock. */
        default byte[] whole(byte[] given) {
            return given;
        }

        /** The encoding of the private key that the last run made; none where it cannot be had. */
        default byte[] privateKey() {
            return new byte[0];
        }
    }
}
