module {
  func.func @f() {
    %0 = stablehlo.replica_id : tensor<ui32> loc(#loc1)
    %1 = stablehlo.replica_id : tensor<ui32> loc("b.py":2:3)
    %2 = stablehlo.replica_id : tensor<ui32> loc(#loc3)
    return loc(unknown)
  } loc("f.py":1:1)
}
#loc0 = loc("x"("a.py":1:2))
#loc1 = loc(callsite(#loc0 at "b.py":2:3))
#loc2 = loc("named")
    %1 = stablehlo.replica_id : tensor<ui32> loc("b.py":2:3)
