jcmd "$PID" GC.heap_dump "$PWD/app.hprof"      # or: node --heapsnapshot-signal=SIGUSR2 app.js
heaphound suspects app.hprof                   # what retains most, and which field holds it
heaphound path app.hprof 'Order#1'             # why an object is alive
heaphound check app.hprof "instances(Session) <= 100"
