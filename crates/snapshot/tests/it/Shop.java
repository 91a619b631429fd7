import java.io.IOException;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A program to be dumped. It says how many objects of its own it has, and waits. */
public class Shop {
    static class Article {
        String name;
        Article(String name) {
            this.name = name;
        }
    }

    static class Order extends Article {
        int amount;
        double price;
        boolean paid;
        char grade;
        long[] history;
        Order before;
        Order(String name) {
            super(name);
        }
    }

    static Map<String, Order> orders = new HashMap<>();
    static Order[] latest = new Order[7];
    static WeakReference<Order> watched;
    static List<Order> list = new ArrayList<>();

    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 1234; i++) {
            Order order = new Order(i % 3 == 0 ? "\u20acuro-" + i : "order-" + i);
            order.amount = i;
            order.price = i / 4.0;
            order.paid = i % 2 == 0;
            order.grade = (char) ('a' + i % 26);
            order.history = new long[] {i, -i};
            order.before = latest[(i + 6) % 7];
            latest[i % 7] = order;
            orders.put(order.name, order);
            list.add(order);
        }
        watched = new WeakReference<>(latest[3]);
        Object local = new Article("on the stack");
        Thread worker = new Thread(() -> sleep(new Article("of the worker")), "worker 7");
        worker.setDaemon(true);
        worker.start();
        while (worker.getState() != Thread.State.TIMED_WAITING) {
            Thread.sleep(10);
        }
        System.out.println("ready " + ProcessHandle.current().pid());
        System.out.flush();
        System.in.read();
        System.out.println(local);
    }

    static void sleep(Article article) {
        try {
            Thread.sleep(1_000_000);
        } catch (InterruptedException interrupted) {
            System.out.println(article);
        }
    }
}
