//! What dumps are looked at for: `dominators`, `suspects`, `diff`, `waste`, and what `info` and `path` tell of many
//! objects.

use expect_test::expect;

use crate::check;

#[test]
fn info_tells_what_classes_retain() {
    check(
        "info leaks.heap --sort retained --limit 6",
        expect![[r#"
            leaks.heap
                           objects  bytes
              objects           26  1,768
              reachable         26  1,768
              unreachable        0      0
              25 edges

              classes (8)             bytes  objects  reachable  retained ≥
              Object[]                  396        5          5         816
              shop.Item                 500        5          5         500
              shop.Registry              16        1          1         484
              java.util.HashMap          16        1          1         468
              java.util.HashMap$Node     72        3          3         420
              Data                      400        4          4         400
              … and 2 more

              roots   count
              static      4
              thread      2

              threads  stack roots  thread object
              worker             2           none
        "#]],
    );
    // Two arrays keep the pairs, and neither alone.
    check(
        "info leaks.heap --sort retained --limit 2 --retained exact",
        expect![[r#"
            leaks.heap
                           objects  bytes
              objects           26  1,768
              reachable         26  1,768
              unreachable        0      0
              25 edges

              classes (8)  bytes  objects  reachable  retained
              Object[]       396        5          5     1,236
              shop.Item      500        5          5       500
              … and 6 more

              roots   count
              static      4
              thread      2

              threads  stack roots  thread object
              worker             2           none
        "#]],
    );
}

#[test]
fn paths_to_instances_of_a_class_are_merged() {
    check(
        "path leaks.heap Data --merge",
        expect![[r#"
            2 merged paths to 4 objects of Data
              3 held like this:
                static:"shop.Main.registry" → shop.Registry#1
                  .sessions → java.util.HashMap#1
                  .table → Object[]#1
                  [0] → java.util.HashMap$Node#1
                  .value → shop.Session#1
                  .data → Data#1
              1 held like this:
                thread:worker[0] @ Worker.java:10 → Object[]#4 [0] → Data#4
        "#]],
    );
    check(
        "path leaks.heap shop.Item --merge",
        expect![[r#"
            1 merged path to 5 objects of shop.Item
              5 held like this:
                static:"shop.Main.list" → shop.Item#1
        "#]],
    );
    check(
        "path leaks.heap shop.Pair --merge --limit 1 --avoid 'Object[]#2'",
        expect![[r#"
            1 merged path to 4 objects of shop.Pair
              4 held like this:
                static:"shop.Main.right" → Object[]#3 [0] → shop.Pair#1
        "#]],
    );
    check(
        "path leaks.heap shop.Pair#1 --merge --count 5",
        expect![[r#"
            2 paths from a root to shop.Pair#1
              2 held like this:
                static:"shop.Main.left" → Object[]#2 [0] → shop.Pair#1
        "#]],
    );
    check(
        "path leaks.heap shop.Nothing --merge",
        expect![[r#"
            error: there is no object and no root `shop.Nothing`
            exit code 2
        "#]],
    );
}

#[test]
fn dominators_are_a_tree() {
    check(
        "dominators leaks.heap --limit 3",
        expect![[r#"
            leaks.heap: 26 live objects, 1,768 bytes
              retained  of all  objects  object
                   500  28.3 %        5  static:"shop.Main.list" → shop.Item#1
                   400  22.6 %        4    .next → shop.Item#2
                   300  17.0 %        3      .next → shop.Item#3
                   484  27.4 %       12  static:"shop.Main.registry" → shop.Registry#1
                   468  26.5 %       11    .sessions → java.util.HashMap#1
                   452  25.6 %       10      .table → Object[]#1
                   150   8.5 %        1  thread:worker[0] → Object[]#4
                   634  35.9 %           … and 8 more
        "#]],
    );
    check(
        "dominators leaks.heap --by class --depth 8 --min 10",
        expect![[r#"
            leaks.heap: 26 live objects, 1,768 bytes
              retained  of all  objects  class
                   500  28.3 %        5  shop.Item
                   400  22.6 %        4    shop.Item
                   300  17.0 %        3      shop.Item
                   200  11.3 %        2        shop.Item
                   100   5.7 %                   … and 1 more
                   484  27.4 %       12  shop.Registry
                   468  26.5 %       11    java.util.HashMap
                   452  25.6 %       10      Object[]
                   420  23.8 %        9        3 java.util.HashMap$Node
                   348  19.7 %        6          3 shop.Session
                   300  17.0 %        3            3 Data
                   364  20.6 %        4  4 Object[]
                   320  18.1 %        4  4 shop.Pair
                   100   5.7 %           … and 1 more
        "#]],
    );
    check(
        "dominators leaks.heap 'Object[]#1' --depth 1 --limit 2",
        expect![[r#"
            leaks.heap: 26 live objects, 1,768 bytes
              from Object[]#1, dominated by java.util.HashMap#1, by shop.Registry#1
              retained  of all  objects  object
                   140   7.9 %        3  [0] → java.util.HashMap$Node#1
                   140   7.9 %        3  [2] → java.util.HashMap$Node#2
                   140   7.9 %           … and 1 more
        "#]],
    );
    check(
        "dominators web.heap Orphan",
        expect![[r#"
            error: no root leads to Orphan#1
              garbage has no dominators
            exit code 2
        "#]],
    );
    check(
        "dominators web.heap --min 101",
        expect![[r#"
            error: invalid value '101' for '--min <PERCENT>': a number from 0 to 100 is wanted

            For more information, try '--help'.
            exit code 2
        "#]],
    );
}

#[test]
fn suspects_are_where_much_accumulates() {
    check(
        "suspects leaks.heap --min 15",
        expect![[r#"
            note[accumulation]: shop.Item#1 retains 500 bytes, 28.3 % of the heap, with 5 Item, through static:"shop.Main.list"
              objects: shop.Item#1
              it is held through:
                static:"shop.Main.list" → shop.Item#1
              note: it holds 1 Item (400 bytes)
              note: 5 objects are retained: 5 Item (500 bytes)
              fingerprint: 8890ac64c1db2d62
            note[accumulation]: Object[]#1 retains 452 bytes, 25.6 % of the heap, with 3 Data, through Registry.sessions
              objects: Object[]#1
              it is held through:
                static:"shop.Main.registry" → shop.Registry#1
                  .sessions → java.util.HashMap#1
                  .table → Object[]#1
              note: it holds 3 HashMap$Node (420 bytes)
              note: 10 objects are retained: 3 Data (300 bytes), 3 HashMap$Node (72 bytes), 3 Session (48 bytes), 1 Object[] (32 bytes)
              fingerprint: d3ead81c37943977
            note[stack]: the stack of thread:worker alone retains 400 bytes, 22.6 % of the heap
              for example:
                thread:worker[0] @ Worker.java:10 → Object[]#4
              note: it holds 2 Object[] (300 bytes)
              note: 3 objects are retained: 2 Object[] (300 bytes), 1 Data (100 bytes)
              fingerprint: 5e9388a3d8667178
            note[group]: 4 Object[] retain 364 bytes, 20.6 % of the heap, and no single object keeps them
              2 held like this:
                thread:worker[1] @ Worker.java:12 → Object[]#5
              1 held like this:
                static:"shop.Main.left" → Object[]#2
              1 held like this:
                static:"shop.Main.right" → Object[]#3
              note: 4 objects are retained: 4 Object[] (364 bytes)
              fingerprint: e9dccd33bdf21ec0
            note[group]: 4 Pair retain 320 bytes, 18.1 % of the heap, and no single object keeps them
              4 held like this:
                static:"shop.Main.left" → Object[]#2 [3] → shop.Pair#4
              note: 4 objects are retained: 4 Pair (320 bytes)
              fingerprint: 38aa17bc08fe64d7
            5 suspects: what retains 266 bytes or more, 15.0 % of the 1,768 bytes of 26 live objects
        "#]],
    );
    check(
        "suspects leaks.heap --min 24 --fail",
        expect![[r#"
            warning[accumulation]: shop.Item#1 retains 500 bytes, 28.3 % of the heap, with 5 Item, through static:"shop.Main.list"
              objects: shop.Item#1
              it is held through:
                static:"shop.Main.list" → shop.Item#1
              note: it holds 1 Item (400 bytes)
              note: 5 objects are retained: 5 Item (500 bytes)
              fingerprint: 8890ac64c1db2d62
            warning[accumulation]: Object[]#1 retains 452 bytes, 25.6 % of the heap, with 3 Data, through Registry.sessions
              objects: Object[]#1
              it is held through:
                static:"shop.Main.registry" → shop.Registry#1
                  .sessions → java.util.HashMap#1
                  .table → Object[]#1
              note: it holds 3 HashMap$Node (420 bytes)
              note: 10 objects are retained: 3 Data (300 bytes), 3 HashMap$Node (72 bytes), 3 Session (48 bytes), 1 Object[] (32 bytes)
              fingerprint: d3ead81c37943977
            2 suspects: what retains 425 bytes or more, 24.0 % of the 1,768 bytes of 26 live objects
            exit code 1
        "#]],
    );
    check(
        "suspects web.heap --min 100",
        expect![[r#"
            no suspects: what retains 296 bytes or more, 100.0 % of the 296 bytes of 22 live objects
        "#]],
    );
}

#[test]
fn two_heaps_are_compared() {
    check(
        "diff orders-1.heap orders-2.heap --sort retained",
        expect![[r#"
            orders-1.heap → orders-2.heap
              live     before  after  more
              objects      23     37   +14
              bytes       648  1,096  +448

              classes      objects  more  bytes  more  retained  more
              OrderSystem        1    +0     24    +0     1,096  +448
              Entry[]            1    +0    144   +64       576  +288
              HashTable          1    +0     16    +0       592  +288
              Entry             13    +6    208   +96       432  +224
              Company            5    +2    320  +128       320  +128
              Person             8    +4    256  +128       256  +128
              Link               6    +2     96   +32        96   +32
              Queue              2    +0     32    +0       128   +32

              new objects (17, 576 bytes)  retained
              Company#40                         64
              Company#41                         64
              Company#42                         64
              Company#43                         64
              Company#44                         64
              Entry#8                            48
              Entry#10                           48
              Entry#13                           48
              Entry#11                           32
              Link#5                             32
              Person#5                           32
              Person#6                           32
              Person#7                           32
              Person#8                           32
              Entry#9                            16
              Entry#12                           16
              Link#6                             16
        "#]],
    );
    check(
        "diff web.heap orders-2.heap --limit 1",
        expect![[r#"
            web.heap → orders-2.heap
              live     before  after  more
              objects      22     37   +15
              bytes       296  1,096  +800

              classes  objects  more  bytes  more  retained  more
              Company        5    +5    320  +320       320  +320
              … and 22 more
              note: these may be heaps of different programs: of 8 classes they have 0 in common
              note: objects have no names that both heaps know, so that new ones cannot be told
        "#]],
    );
    check(
        "diff web.heap web.heap",
        expect![[r#"
            web.heap → web.heap
              live     before  after  more
              objects      22     22    +0
              bytes       296    296    +0

              classes  objects  more  bytes  more  retained  more
              none

              new objects (0, 0 bytes)  retained
              none
              no class differs
        "#]],
    );
}

#[test]
fn waste_is_told_with_where_it_is() {
    check(
        "waste waste.heap",
        expect![[r#"
            waste.heap: 33 live objects, 2,664 bytes

            duplicate strings: 1 objects, 24 bytes, 0.9 % of the heap
                        bytes  objects                      where
              "Norway"     24        2  shop.Customer.country (2)
              for example:
                static:"shop.Shop.customers" → java.util.ArrayList#1
                  .elementData → Object[]#1
                  [0] → shop.Customer#1
                  .country → Str#1

            empty collections: 4 objects, 136 bytes, 5.1 % of the heap
                                    bytes  objects                 where
              java.util.ArrayList      72        1  shop.Customer.orders
              java.util.HashSet        32        1  shop.Customer.orders
              java.util.LinkedList     16        1    shop.Customer.cart
              shop.Cart                16        1    shop.Customer.cart
              for example:
                static:"shop.Shop.customers" → java.util.ArrayList#1
                  .elementData → Object[]#1
                  [0] → shop.Customer#1
                  .orders → java.util.ArrayList#2

            arrays and collections that are mostly null: 2 objects, 264 bytes, 9.9 % of the heap
                                               bytes  objects                            where
              shop.Cart (its array)              148        1                  shop.Cart.table
              java.util.ArrayList (its array)    116        1  java.util.ArrayList.elementData
              for example:
                static:"shop.Shop.customers" → java.util.ArrayList#1
                  .elementData → Object[]#1
                  [2] → shop.Customer#3
                  .cart → shop.Cart#2
                  .table → Object[]#4

            boxed numbers: 2 objects, 32 bytes, 1.2 % of the heap
                                            bytes  objects                  where
              java.lang.Integer (2 values)     32        2  shop.Customer.age (3)
              for example:
                static:"shop.Shop.customers" → java.util.ArrayList#1
                  .elementData → Object[]#1
                  [1] → shop.Customer#2
                  .age → java.lang.Integer#2

            arrays of one value: 3 objects, 104 bytes, 3.9 % of the heap; not all is known: the file does not have all arrays
                                   bytes  objects                            where
              Object[] of nulls       56        1  java.util.ArrayList.elementData
              byte[] of one value     24        1                      Object[][*]
              byte[] of zeros         24        1                      Object[][*]
              for example:
                static:"shop.Shop.customers" → java.util.ArrayList#1
                  .elementData → Object[]#1
                  [0] → shop.Customer#1
                  .orders → java.util.ArrayList#2
                  .elementData → Object[]#2

            held by thread locals: 2 objects, 1,532 bytes, 57.5 % of the heap
                                                 bytes  objects        where
              byte[]                             1,016        1  Object[][*]
              byte[] (its thread local is gone)    516        1  Object[][*]
              for example:
                thread-object:main → java.lang.Thread#1
                  .locals → java.lang.ThreadLocal$ThreadLocalMap#1
                  .table → Object[]#5
                  [0] → java.lang.ThreadLocal$ThreadLocalMap$Entry#1

            held by class loaders: 1 objects, 316 bytes, 11.9 % of the heap
                           bytes  objects                  where
              shop.Loader    316        1  other:system-class[0]
              for example:
                other:system-class[0] → shop.Loader#1
        "#]],
    );
    check(
        "waste leaks.heap",
        expect![[r#"
            leaks.heap: 26 live objects, 1,768 bytes

            duplicate strings: none

            empty collections: none

            arrays and collections that are mostly null: none

            boxed numbers: none

            arrays of one value: none

            held by thread locals: none

            held by class loaders: none
        "#]],
    );
}
