import java.io.ByteArrayOutputStream;
import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.Provider;
import java.security.PublicKey;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.Arrays;

/** Key objects of the standards' own encodings, by X.509 and PKCS#8 (RFC 9881, 9909, 9935), and back. */
final class Keys {
    private Keys() {}

    static PublicKey publicKey(Provider provider, ParameterSet set, byte[] bytes) throws GeneralSecurityException {
        byte[] checked = exactly(set.pkBytes(), bytes, "public key");
        return factory(provider, set).generatePublic(new X509EncodedKeySpec(
                der(0x30, algorithm(set), der(0x03, new byte[1], checked))));
    }

    /** `form` is seed or sk. */
    static PrivateKey privateKey(Provider provider, ParameterSet set, String form, byte[] bytes)
            throws GeneralSecurityException {
        byte[] key;
        if (form.equals("seed")) {
            key = der(0x80, exactly(set.seedBytes(), bytes, "seed"));
        } else {
            byte[] checked = exactly(set.skBytes(), bytes, "private key");
            key = set.family().equals("slh-dsa") ? checked : der(0x04, checked);
        }
        byte[] encoded = der(0x30, new byte[] {2, 1, 0}, algorithm(set), der(0x04, key));
        return factory(provider, set).generatePrivate(new PKCS8EncodedKeySpec(encoded));
    }

    /** Whether the provider makes private keys from seeds. */
    static boolean readsSeeds(Provider provider, ParameterSet set) {
        try {
            privateKey(provider, set, "seed", new byte[set.seedBytes()]);
            return true;
        } catch (GeneralSecurityException error) {
            return false;
        }
    }

    static byte[] encoded(PublicKey key, ParameterSet set) {
        return tail(key.getEncoded(), set.pkBytes());
    }

    /** Whether it stands alone or beside the seed, it ends PKCS#8. */
    static byte[] encoded(PrivateKey key, ParameterSet set) {
        return tail(key.getEncoded(), set.skBytes());
    }

    static byte[] exactly(int size, byte[] bytes, String what) throws InvalidKeyException {
        if (bytes.length != size) {
            throw new InvalidKeyException("a " + what + " of " + bytes.length + " bytes, must be " + size);
        }
        return bytes;
    }

    private static KeyFactory factory(Provider provider, ParameterSet set) throws GeneralSecurityException {
        return KeyFactory.getInstance(set.service(), provider);
    }

    private static byte[] algorithm(ParameterSet set) {
        byte[] identifier = {6, 9, 0x60, (byte) 0x86, 0x48, 1, 0x65, 3, 4, (byte) set.arc(), (byte) set.number()};
        return der(0x30, identifier);
    }

    /** A DER element of under 64 KiB. */
    private static byte[] der(int tag, byte[]... parts) {
        int size = Arrays.stream(parts).mapToInt(part -> part.length).sum();
        ByteArrayOutputStream out = new ByteArrayOutputStream(size + 4);
        out.write(tag);
        if (size > 0xff) {
            out.write(0x82);
            out.write(size >> 8);
        } else if (size > 0x7f) {
            out.write(0x81);
        }
        out.write(size);
        for (byte[] part : parts) {
            out.writeBytes(part);
        }
        return out.toByteArray();
    }

    private static byte[] tail(byte[] bytes, int size) {
        return bytes.length < size ? new byte[0] : Arrays.copyOfRange(bytes, bytes.length - size, bytes.length);
    }
}
