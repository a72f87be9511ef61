import java.lang.reflect.InvocationTargetException;
import java.util.HexFormat;

/** The protocol's text: bytes, numbers, and errors on one line. */
final class Text {
    private static final HexFormat HEX = HexFormat.of();
    private static final int ERROR_CHARACTERS = 300;

    private Text() {}

    /** A request that is not of the protocol's form; the text says which rule it breaks. */
    static final class Malformed extends Exception {
        private static final long serialVersionUID = 1;

        Malformed(String rule) {
            super(rule);
        }
    }

    /** Lower-case hexadecimal; `-` is the empty string. */
    static byte[] parseHex(String text, String what) throws Malformed {
        if (text.equals("-")) {
            return new byte[0];
        }
        try {
            if (!text.isEmpty() && text.chars().noneMatch(c -> c >= 'A' && c <= 'F')) {
                return HEX.parseHex(text);
            }
        } catch (IllegalArgumentException error) {
            // said below
        }
        throw new Malformed(what + " must be lower-case hexadecimal or `-`");
    }

    static String hex(byte[] bytes) {
        return bytes.length == 0 ? "-" : HEX.formatHex(bytes);
    }

    /** A decimal number without sign that fits in 64 bits; one of 2^63 or more comes out negative. */
    static long parseNumber(String text) throws Malformed {
        try {
            if (!text.startsWith("+")) {
                return Long.parseUnsignedLong(text);
            }
        } catch (NumberFormatException error) {
            // said below
        }
        throw new Malformed("expected a decimal number, got " + quote(text));
    }

    static String quote(String text) {
        return "`" + printable(text.length() <= 40 ? text : text.substring(0, 40) + "...") + "`";
    }

    static String oneLine(Throwable error) {
        boolean wrapped = error instanceof InvocationTargetException && error.getCause() != null;
        Throwable own = wrapped ? error.getCause() : error;
        String text = own instanceof Malformed ? own.getMessage() : own.toString();
        return printable(text.substring(0, Math.min(text.length(), ERROR_CHARACTERS)));
    }

    private static String printable(String text) {
        return text.replaceAll("[^ -~]", "?");
    }
}
