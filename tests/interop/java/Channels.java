import io.aeron.ChannelUri;
import io.aeron.ChannelUriStringBuilder;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Answers each line of its input with one line: what Java's channel builder and helpers make of it.
 * <p>
 * Fields are separated by tabs: "build" and setters as name=type=value, or the name of a helper and its arguments.
 */
public final class Channels
{
    private Channels()
    {
    }

    public static void main(final String[] args) throws IOException
    {
        final BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        String line;
        while ((line = lines.readLine()) != null)
        {
            System.out.println(answer(line.split("\t")));
            System.out.flush();
        }
    }

    private static String answer(final String[] fields)
    {
        try
        {
            return fields[0].equals("build") ? build(fields) : help(fields);
        }
        catch (final InvocationTargetException ex)
        {
            return "REFUSED " + ex.getCause().getMessage();
        }
        catch (final Exception ex)
        {
            return "REFUSED " + ex.getMessage();
        }
    }

    private static String build(final String[] fields) throws ReflectiveOperationException
    {
        final ChannelUriStringBuilder builder = new ChannelUriStringBuilder();
        for (int i = 1; i < fields.length; i++)
        {
            final String[] setter = fields[i].split("=", 3);
            final Class<?>[] types = Arrays.stream(setter[1].split(","))
                .map(Channels::type).toArray(Class<?>[]::new);
            final String[] texts = setter[2].split(";", types.length);
            final Object[] values = new Object[types.length];
            for (int each = 0; each < types.length; each++)
            {
                values[each] = value(types[each], texts[each]);
            }
            ChannelUriStringBuilder.class.getMethod(setter[0], types).invoke(builder, values);
        }
        return builder.build();
    }

    private static Class<?> type(final String name)
    {
        switch (name)
        {
            case "int":
                return int.class;
            case "long":
                return long.class;
            case "boolean":
                return boolean.class;
            case "Integer":
                return Integer.class;
            case "Long":
                return Long.class;
            case "Boolean":
                return Boolean.class;
            default:
                return String.class;
        }
    }

    private static Object value(final Class<?> type, final String text)
    {
        if (text.equals("null"))
        {
            return null;
        }
        if (type == int.class || type == Integer.class)
        {
            return Integer.valueOf(text);
        }
        if (type == long.class || type == Long.class)
        {
            return Long.valueOf(text);
        }
        return type == String.class ? text : (Object)Boolean.valueOf(text);
    }

    private static String help(final String[] fields)
    {
        switch (fields[0])
        {
            case "parse":
                return ChannelUri.parse(fields[1]).toString();
            case "session":
                return ChannelUri.addSessionId(fields[1], Integer.parseInt(fields[2]));
            case "alias":
                return ChannelUri.addAliasIfAbsent(fields[1], fields[2]);
            case "transform":
                return ChannelUri.transformAlias(fields[1], (alias) -> alias + fields[2]);
            case "destination":
                return ChannelUri.createDestinationUri(fields[1], fields[2]);
            case "wildcard":
                final ChannelUri uri = ChannelUri.parse(fields[1]);
                uri.replaceEndpointWildcardPort(fields[2]);
                return uri.toString();
            case "tag":
                return ChannelUri.isTagged(fields[1]) + " " + ChannelUri.getTag(fields[1]);
            default:
                throw new IllegalArgumentException("unknown helper " + fields[0]);
        }
    }
}
