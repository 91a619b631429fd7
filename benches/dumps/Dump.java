import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.Map;

/**
 * A heap to measure readers of dumps with: a large HashMap of strings, a linked list, a binary tree, and
 * arrays. `java Dump.java FILE 5000000` makes about that many objects and dumps them to the file.
 *
 * What it knows about itself goes to stdout, so that a reader's counts can be held against it.
 */
public class Dump {
    static final class Item {
        Item next;
        Item previous;
        long number;
    }

    static final class Tree {
        Tree left;
        Tree right;
        int key;
    }

    static final class Order {
        final String customer;
        final int[] amounts;
        Order earlier;
        double total;

        Order(String customer, int[] amounts, Order earlier) {
            this.customer = customer;
            this.amounts = amounts;
            this.earlier = earlier;
        }
    }

    static Map<String, Order> orders = new HashMap<>();
    static Item list;
    static Tree tree;
    static Object[] grid;

    public static void main(String[] arguments) throws Exception {
        String file = arguments[0];
        int objects = Integer.parseInt(arguments[1]);
        // Five sevenths are orders with all that belongs to them: a key (String and byte[]), a node of the
        // map, the order and its amounts.
        int entries = objects / 7;
        int items = objects / 7;
        int nodes = objects / 7;
        Order last = null;
        for (int i = 0; i < entries; i++) {
            String key = "order-" + Integer.toString(i, 36);
            int[] amounts = new int[i % 6];
            last = new Order(key, amounts, i % 4 == 0 ? null : last);
            orders.put(key, last);
        }
        for (int i = 0; i < items; i++) {
            Item item = new Item();
            item.number = i;
            item.next = list;
            if (list != null) {
                list.previous = item;
            }
            list = item;
        }
        // In an order that scatters the tree's nodes over the heap.
        long seed = 42;
        for (int i = 0; i < nodes; i++) {
            seed = seed * 6364136223846793005L + 1442695040888963407L;
            tree = insert(tree, (int) (seed >>> 33));
        }
        grid = new Object[1000];
        for (int i = 0; i < grid.length; i++) {
            grid[i] = new Object[] {list, tree, i % 2 == 0 ? null : orders};
        }
        System.gc();
        var bean = ManagementFactory.getPlatformMXBean(com.sun.management.HotSpotDiagnosticMXBean.class);
        bean.dumpHeap(file, true);
        System.out.println("entries " + entries);
        System.out.println("items " + items);
        System.out.println("nodes " + nodes);
    }

    /** Without recursion: random trees are not deep, but threads' stacks are small. */
    static Tree insert(Tree root, int key) {
        Tree node = new Tree();
        node.key = key;
        if (root == null) {
            return node;
        }
        for (Tree at = root; ; ) {
            if (key < at.key) {
                if (at.left == null) {
                    at.left = node;
                    return root;
                }
                at = at.left;
            } else {
                if (at.right == null) {
                    at.right = node;
                    return root;
                }
                at = at.right;
            }
        }
    }
}
