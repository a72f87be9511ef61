import java.security.SecureRandom;

/** Gives the same bytes in every operation, in their order, and nothing to who asks for more of them. */
final class Given extends SecureRandom {
    private static final long serialVersionUID = 1;
    private final byte[] bytes;
    private int at;

    Given(byte[] bytes) {
        super(null, null);
        this.bytes = bytes;
    }

    @Override
    public void nextBytes(byte[] target) {
        if (target.length > bytes.length - at) {
            throw new IllegalStateException(
                    "the provider drew " + target.length + " random bytes, and " + (bytes.length - at) + " were left");
        }
        System.arraycopy(bytes, at, target, 0, target.length);
        at = (at + target.length) % bytes.length;
    }
}
