import java.lang.management.ManagementFactory;
import java.lang.reflect.Field;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** A program that leaks sessions, and dumps itself: `java Leak.java FILE SESSIONS [broken]`. */
public class Leak {
    static class Session {
        final byte[] data = new byte[1000];
        final String user;

        Session(String user) {
            this.user = user;
        }
    }

    static class Registry {
        final Map<String, Session> sessions = new HashMap<>();
    }

    static final Registry registry = new Registry();
    static final ThreadLocal<byte[]> local = new ThreadLocal<>();
    static final List<Object> carts = new ArrayList<>();
    static final TreeMap<Integer, Integer> tree = new TreeMap<>();
    static final LinkedList<String> list = new LinkedList<>();
    static final List<Object> held = new ArrayList<>();

    public static void main(String[] arguments) throws Exception {
        int sessions = Integer.parseInt(arguments[1]);
        for (int i = 0; i < sessions; i++) {
            registry.sessions.put("session-" + i, new Session(new String("user-" + i % 100)));
        }
        for (int i = 0; i < 100; i++) {
            carts.add(new ArrayList<>(50));
            carts.add(new HashMap<>());
            tree.put(i * 1000, i);
            list.add("x" + i);
        }
        local.set(new byte[100_000]);
        ExecutorService executor = Executors.newFixedThreadPool(2);
        executor.submit(() -> 1).get();
        if (arguments.length > 2) {
            breakThings(executor);
        }
        Object bean = ManagementFactory.getPlatformMBeanServer();
        ManagementFactory.newPlatformMXBeanProxy(
                (javax.management.MBeanServer) bean,
                "com.sun.management:type=HotSpotDiagnostic",
                com.sun.management.HotSpotDiagnosticMXBean.class)
            .dumpHeap(arguments[0], true);
        System.exit(0);
    }

    static void breakThings(ExecutorService executor) throws Exception {
        // The second node of the list leads back to the first, and not to the third.
        Object first = get(LinkedList.class, "first", list);
        Object second = get(first.getClass(), "next", first);
        set(first.getClass(), "next", second, first);
        Object root = get(TreeMap.class, "root", tree);
        set(root.getClass(), "parent", get(root.getClass(), "left", root), null);
        Field size = ArrayList.class.getDeclaredField("size");
        size.setAccessible(true);
        size.setInt(carts, 1_000_000);
        // A node of one table in another.
        Map<String, String> other = new HashMap<>();
        other.put("a", "b");
        Object[] to = (Object[]) get(HashMap.class, "table", other);
        for (Object node : (Object[]) get(HashMap.class, "table", registry.sessions)) {
            if (node != null) {
                to[3] = node;
                break;
            }
        }
        held.add(other);
        // A worker of an executor that is over.
        Set<?> workers = (Set<?>) get(ThreadPoolExecutor.class, "workers", executor);
        held.add(workers.iterator().next());
        executor.shutdown();
        executor.awaitTermination(10, TimeUnit.SECONDS);
        URL jar = new URL("file:/tmp/app.jar");
        held.add(new URLClassLoader(new URL[] {jar}));
        held.add(new URLClassLoader(new URL[] {jar}));
        URLClassLoader closed = new URLClassLoader(new URL[] {new URL("file:/tmp/other.jar")});
        closed.close();
        held.add(closed);
    }

    static Object get(Class<?> type, String name, Object object) throws Exception {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(object);
    }

    static void set(Class<?> type, String name, Object object, Object value) throws Exception {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        field.set(object, value);
    }
}
