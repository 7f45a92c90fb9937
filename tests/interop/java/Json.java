import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/** What the general client says: JSON text of lists, maps, numbers, words; bytes as hex. */
final class Json
{
    private Json()
    {
    }

    static String text(final Object value)
    {
        if (value instanceof Map)
        {
            final List<String> parts = new ArrayList<>();
            ((Map<?, ?>)value).forEach((name, each) -> parts.add(text(name) + ": " + text(each)));
            return "{" + String.join(", ", parts) + "}";
        }
        if (value instanceof List)
        {
            final List<String> parts = new ArrayList<>();
            ((List<?>)value).forEach((each) -> parts.add(text(each)));
            return "[" + String.join(", ", parts) + "]";
        }
        return value instanceof String ? quoted((String)value) : String.valueOf(value);
    }

    private static String quoted(final String value)
    {
        final StringBuilder out = new StringBuilder("\"");
        for (final char each : value.toCharArray())
        {
            if (each == '"' || each == '\\')
            {
                out.append('\\').append(each);
            }
            else if (each < ' ')
            {
                out.append(String.format("\\u%04x", (int)each));
            }
            else
            {
                out.append(each);
            }
        }
        return out.append('"').toString();
    }

    static String hex(final byte[] bytes)
    {
        return java.util.HexFormat.of().formatHex(bytes);
    }

    static byte[] bytes(final String hex)
    {
        return java.util.HexFormat.of().parseHex(hex);
    }

    static void pause()
    {
        LockSupport.parkNanos(200_000);
    }
}
