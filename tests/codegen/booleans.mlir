// The position of the first true or false element: along rows, down columns, with 64-bit positions,
// and if there is none.
func.func @main(%x: tensor<37x50xf32>) -> tensor<37xi32> {
  %limit = stablehlo.constant dense<0.9> : tensor<37x50xf32>
  %p = stablehlo.compare GT, %x, %limit, FLOAT : (tensor<37x50xf32>, tensor<37x50xf32>) -> tensor<37x50xi1>
  %n = stablehlo.iota dim = 1 : tensor<37x50xi32>
  %none = stablehlo.constant dense<false> : tensor<i1>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%p init: %none), (%n init: %zero) across dimensions = [1] : (tensor<37x50xi1>, tensor<37x50xi32>, tensor<i1>, tensor<i32>) -> (tensor<37xi1>, tensor<37xi32>)
   reducer(%a: tensor<i1>, %b: tensor<i1>) (%k: tensor<i32>, %l: tensor<i32>) {
    %better = stablehlo.compare GT, %a, %b, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %equal = stablehlo.compare EQ, %a, %b, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %first = stablehlo.compare LT, %k, %l, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %tie = stablehlo.and %equal, %first : tensor<i1>
    %pick = stablehlo.or %better, %tie : tensor<i1>
    %v = stablehlo.select %better, %a, %b : tensor<i1>, tensor<i1>
    %m = stablehlo.select %pick, %k, %l : tensor<i1>, tensor<i32>
    stablehlo.return %v, %m : tensor<i1>, tensor<i32>
  }
  return %r#1 : tensor<37xi32>
}
// -----
func.func @main(%x: tensor<50x37xf32>) -> tensor<37xi32> {
  %limit = stablehlo.constant dense<0.5> : tensor<50x37xf32>
  %p = stablehlo.compare GT, %x, %limit, FLOAT : (tensor<50x37xf32>, tensor<50x37xf32>) -> tensor<50x37xi1>
  %n = stablehlo.iota dim = 0 : tensor<50x37xi32>
  %none = stablehlo.constant dense<true> : tensor<i1>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%p init: %none), (%n init: %zero) across dimensions = [0] : (tensor<50x37xi1>, tensor<50x37xi32>, tensor<i1>, tensor<i32>) -> (tensor<37xi1>, tensor<37xi32>)
   reducer(%a: tensor<i1>, %b: tensor<i1>) (%k: tensor<i32>, %l: tensor<i32>) {
    %better = stablehlo.compare LT, %a, %b, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %equal = stablehlo.compare EQ, %a, %b, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %first = stablehlo.compare LT, %k, %l, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %tie = stablehlo.and %equal, %first : tensor<i1>
    %pick = stablehlo.or %better, %tie : tensor<i1>
    %v = stablehlo.select %better, %a, %b : tensor<i1>, tensor<i1>
    %m = stablehlo.select %pick, %k, %l : tensor<i1>, tensor<i32>
    stablehlo.return %v, %m : tensor<i1>, tensor<i32>
  }
  return %r#1 : tensor<37xi32>
}
// -----
func.func @main(%x: tensor<5x3001xf32>) -> tensor<5xi64> {
  %limit = stablehlo.constant dense<0.999> : tensor<5x3001xf32>
  %p = stablehlo.compare GT, %x, %limit, FLOAT : (tensor<5x3001xf32>, tensor<5x3001xf32>) -> tensor<5x3001xi1>
  %n = stablehlo.iota dim = 1 : tensor<5x3001xi64>
  %none = stablehlo.constant dense<false> : tensor<i1>
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %r:2 = stablehlo.reduce(%p init: %none), (%n init: %zero) across dimensions = [1] : (tensor<5x3001xi1>, tensor<5x3001xi64>, tensor<i1>, tensor<i64>) -> (tensor<5xi1>, tensor<5xi64>)
   reducer(%a: tensor<i1>, %b: tensor<i1>) (%k: tensor<i64>, %l: tensor<i64>) {
    %better = stablehlo.compare GT, %a, %b, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %equal = stablehlo.compare EQ, %a, %b, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %first = stablehlo.compare LT, %k, %l, SIGNED : (tensor<i64>, tensor<i64>) -> tensor<i1>
    %tie = stablehlo.and %equal, %first : tensor<i1>
    %pick = stablehlo.or %better, %tie : tensor<i1>
    %v = stablehlo.select %better, %a, %b : tensor<i1>, tensor<i1>
    %m = stablehlo.select %pick, %k, %l : tensor<i1>, tensor<i64>
    stablehlo.return %v, %m : tensor<i1>, tensor<i64>
  }
  return %r#1 : tensor<5xi64>
}
// -----
func.func @main(%x: tensor<9x70xf32>) -> tensor<9xi32> {
  %limit = stablehlo.constant dense<1.0e30> : tensor<9x70xf32>
  %p = stablehlo.compare GT, %x, %limit, FLOAT : (tensor<9x70xf32>, tensor<9x70xf32>) -> tensor<9x70xi1>
  %n = stablehlo.iota dim = 1 : tensor<9x70xi32>
  %none = stablehlo.constant dense<false> : tensor<i1>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.reduce(%p init: %none), (%n init: %zero) across dimensions = [1] : (tensor<9x70xi1>, tensor<9x70xi32>, tensor<i1>, tensor<i32>) -> (tensor<9xi1>, tensor<9xi32>)
   reducer(%a: tensor<i1>, %b: tensor<i1>) (%k: tensor<i32>, %l: tensor<i32>) {
    %better = stablehlo.compare GT, %a, %b, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %equal = stablehlo.compare EQ, %a, %b, UNSIGNED : (tensor<i1>, tensor<i1>) -> tensor<i1>
    %first = stablehlo.compare LT, %k, %l, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %tie = stablehlo.and %equal, %first : tensor<i1>
    %pick = stablehlo.or %better, %tie : tensor<i1>
    %v = stablehlo.select %better, %a, %b : tensor<i1>, tensor<i1>
    %m = stablehlo.select %pick, %k, %l : tensor<i1>, tensor<i32>
    stablehlo.return %v, %m : tensor<i1>, tensor<i32>
  }
  return %r#1 : tensor<9xi32>
}
