/// Names with letters beyond ASCII, as symbols write them: RFC 3492 with `_` between the plain letters and the rest, and with capital
/// letters for the digits above 25.
enum Punycode {
  static func encode(_ name: String) -> String {
    let scalars = name.unicodeScalars.map(\.value)
    var output = scalars.filter { $0 < 0x80 }.map { UInt8($0) }
    let basic = output.count
    var handled = basic
    if basic > 0 { output.append(UInt8(ascii: "_")) }
    var (n, delta, bias) = (UInt32(0x80), 0, 72)
    while handled < scalars.count {
      guard let m = scalars.filter({ $0 >= n }).min() else { break }
      delta += Int(m - n) * (handled + 1)
      n = m
      for scalar in scalars {
        if scalar < n { delta += 1 }
        guard scalar == n else { continue }
        var (q, k) = (delta, 36)
        while true {
          let t = k <= bias ? 1 : k >= bias + 26 ? 26 : k - bias
          if q < t { break }
          output.append(digit(t + (q - t) % (36 - t)))
          q = (q - t) / (36 - t)
          k += 36
        }
        output.append(digit(q))
        bias = adapted(delta, handled + 1, isFirst: handled == basic)
        delta = 0
        handled += 1
      }
      delta += 1
      n += 1
    }
    return String(decoding: output, as: UTF8.self)
  }

  private static func digit(_ value: Int) -> UInt8 {
    value < 26 ? UInt8(ascii: "a") + UInt8(value) : UInt8(ascii: "A") + UInt8(value - 26)
  }

  private static func adapted(_ delta: Int, _ count: Int, isFirst: Bool) -> Int {
    var delta = isFirst ? delta / 700 : delta / 2
    delta += delta / count
    var k = 0
    while delta > 455 {
      delta /= 35
      k += 36
    }
    return k + 36 * delta / (delta + 38)
  }
}
