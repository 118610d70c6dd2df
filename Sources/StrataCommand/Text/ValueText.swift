import Foundation
import StrataCore

/// Values of attributes as text that reads back as the same value, bit by bit.
enum ValueText {
  /// A number that JSON has none for: `Infinity`, `-Infinity`, `NaN`, and `NaN:` with its bits where it is not the usual one.
  static func special(_ value: Double) -> String {
    if value.isInfinite { return value < 0 ? "-Infinity" : "Infinity" }
    let bits = value.bitPattern
    return bits == Double.nan.bitPattern ? "NaN" : "NaN:" + String(bits, radix: 16)
  }

  static func special(_ value: Float) -> String {
    if value.isInfinite { return value < 0 ? "-Infinity" : "Infinity" }
    let bits = value.bitPattern
    return bits == Float.nan.bitPattern ? "NaN" : "NaN:" + String(bits, radix: 16)
  }

  static func double(_ text: some StringProtocol) -> Double? {
    switch text {
    case "Infinity": return .infinity
    case "-Infinity": return -.infinity
    case "NaN": return .nan
    default: break
    }
    if text.hasPrefix("NaN:") {
      return UInt64(text.dropFirst(4), radix: 16).map(Double.init(bitPattern:)).flatMap {
        $0.isNaN ? $0 : nil
      }
    }
    return isNumber(text) ? Double(text).flatMap { $0.isFinite ? $0 : nil } : nil
  }

  static func float(_ text: some StringProtocol) -> Float? {
    switch text {
    case "Infinity": return .infinity
    case "-Infinity": return -.infinity
    case "NaN": return .nan
    default: break
    }
    if text.hasPrefix("NaN:") {
      return UInt32(text.dropFirst(4), radix: 16).map(Float.init(bitPattern:)).flatMap { $0.isNaN ? $0 : nil }
    }
    return isNumber(text) ? Float(text).flatMap { $0.isFinite ? $0 : nil } : nil
  }

  /// Digits, a sign, a point and an exponent: no hexadecimal and no words.
  private static func isNumber(_ text: some StringProtocol) -> Bool {
    text.utf8.allSatisfy { $0 &- 48 < 10 || $0 == 45 || $0 == 43 || $0 == 46 || $0 | 0x20 == 101 }
  }

  static func decimal(_ value: Decimal) -> String { value.isNaN ? "NaN" : value.description }

  /// The decimal that a text stands for; nil for a text that is none, and for a number that no decimal is exactly.
  static func decimal(_ text: some StringProtocol) -> Decimal? {
    if text == "NaN" { return .nan }
    guard text.utf8.count <= 400, let number = DecimalDigits(text), let value = Decimal(string: String(text))
    else { return nil }
    // Foundation rounds what has more digits than it keeps.
    return number.fitsSurely || DecimalDigits(value.description) == number ? value : nil
  }

  /// Why a text is no value of a type.
  static func refusal(_ text: some StringProtocol, _ type: AttributeType) -> String {
    type == .decimal && DecimalDigits(text) != nil
      ? "“\(text.prefix(60))” does not fit into the 38 digits of a decimal"
      : "“\(text.prefix(60))” is no \(type)"
  }

  // MARK: Dates

  /// A date in the calendar of ISO 8601, in UTC, with as many digits of a second as it takes to be read back exactly; seconds since 2001 with an
  /// `@` before them for dates that no such text stands for.
  static func date(_ value: Date) -> String {
    let seconds = value.timeIntervalSinceReferenceDate
    // Year 1 to 9999.
    guard seconds >= -63_113_904_000, seconds < 252_423_993_600 else {
      return "@" + (seconds.isFinite ? seconds.description : special(seconds))
    }
    let whole = seconds.rounded(.down)
    let fraction = seconds - whole
    var text = calendarText(Int(whole))
    if fraction > 0 {
      // Nine digits are a billionth of a second: closer than doubles lie for dates after 2001.
      var digits = String(Int((fraction * 1e9).rounded()))
      if digits.count > 9 { return "@\(seconds)" }
      digits = String(repeating: "0", count: 9 - digits.count) + digits
      while digits.hasSuffix("0") { digits.removeLast() }
      if !digits.isEmpty { text += "." + digits }
    }
    text += "Z"
    return Self.date(text)?.timeIntervalSinceReferenceDate.bitPattern == seconds.bitPattern
      ? text : "@\(seconds)"
  }

  /// Reads what `date(_:)` writes, and wrote for dates that are no numbers, and dates without time, with an offset, or with a space for the T.
  static func date(_ text: some StringProtocol) -> Date? {
    if text.hasPrefix("@") {
      let seconds: Double? =
        switch text.dropFirst() {
        case "inf": Double.infinity
        case "-inf": -Double.infinity
        case "nan": Double.nan
        default: double(text.dropFirst())
        }
      return seconds.map { Date(timeIntervalSinceReferenceDate: $0) }
    }
    var rest = Array(text.utf8)[...]
    func number(_ count: Int) -> Int? {
      guard rest.count >= count, rest.prefix(count).allSatisfy({ $0 &- 48 < 10 }) else { return nil }
      defer { rest = rest.dropFirst(count) }
      return rest.prefix(count).reduce(0) { $0 * 10 + Int($1 - 48) }
    }
    func takes(_ letters: String) -> UInt8? {
      guard let first = rest.first, letters.utf8.contains(first) else { return nil }
      rest = rest.dropFirst()
      return first
    }
    guard let year = number(4), year >= 1, takes("-") != nil, let month = number(2), (1...12).contains(month),
      takes("-") != nil, let day = number(2), (1...daysInMonth(year, month)).contains(day)
    else { return nil }
    var seconds = Double((days(year, month, day) - days(2001, 1, 1)) * 86_400)
    if rest.isEmpty { return Date(timeIntervalSinceReferenceDate: seconds) }
    guard takes("Tt ") != nil, let hour = number(2), hour < 24, takes(":") != nil, let minute = number(2),
      minute < 60
    else { return nil }
    var second = 0
    var fraction = 0.0
    if takes(":") != nil {
      guard let whole = number(2), whole < 60 else { return nil }
      second = whole
      if takes(".,") != nil {
        let digits = rest.prefix { $0 &- 48 < 10 }
        guard !digits.isEmpty, digits.count <= 18,
          let value = Double("0." + String(decoding: digits, as: UTF8.self))
        else { return nil }
        fraction = value
        rest = rest.dropFirst(digits.count)
      }
    }
    seconds += Double(hour * 3_600 + minute * 60 + second)
    if let sign = takes("+-") {
      guard let hours = number(2), takes(":") != nil || true, let minutes = number(2), hours < 24,
        minutes < 60
      else { return nil }
      seconds -= (sign == UInt8(ascii: "-") ? -1 : 1) * Double(hours * 3_600 + minutes * 60)
    } else if takes("Zz") == nil {
      return nil
    }
    return rest.isEmpty ? Date(timeIntervalSinceReferenceDate: seconds + fraction) : nil
  }

  private static func calendarText(_ seconds: Int) -> String {
    let day = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
    let time = seconds - day * 86_400
    let (year, month, date) = civil(day + days(2001, 1, 1))
    func padded(_ number: Int, _ count: Int = 2) -> String {
      let text = String(number)
      return String(repeating: "0", count: max(0, count - text.count)) + text
    }
    return
      "\(padded(year, 4))-\(padded(month))-\(padded(date))T\(padded(time / 3_600)):\(padded(time / 60 % 60)):\(padded(time % 60))"
  }

  private static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

  private static func daysInMonth(_ year: Int, _ month: Int) -> Int {
    month == 2 ? (isLeap(year) ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
  }

  /// Days since the first of January of year 1 in the Gregorian calendar, carried on backwards.
  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let before = year - 1
    var days = before * 365 + before / 4 - before / 100 + before / 400
    for earlier in 1..<month { days += daysInMonth(year, earlier) }
    return days + day - 1
  }

  private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
    var year = days * 400 / 146_097 + 1
    while Self.days(year + 1, 1, 1) <= days { year += 1 }
    while Self.days(year, 1, 1) > days { year -= 1 }
    var rest = days - Self.days(year, 1, 1)
    var month = 1
    while rest >= daysInMonth(year, month) {
      rest -= daysInMonth(year, month)
      month += 1
    }
    return (year, month, rest + 1)
  }

  // MARK: For people and for tables

  /// A value as a cell of a table: whole texts, dates of the calendar, data as Base64.
  static func cell(_ value: AttributeValue) -> String {
    switch value {
    case .null, .reference: ""
    case .integer(let value): String(value)
    case .boolean(let value): value ? "true" : "false"
    case .double(let value): value.isFinite ? value.description : special(value)
    case .float(let value): value.isFinite ? value.description : special(value)
    case .decimal(let value): decimal(value)
    case .string(let value): value
    case .date(let value): date(value)
    case .data(let value): value.base64EncodedString()
    case .uuid(let value): value.uuidString
    case .url(let value): value.absoluteString
    }
  }

  /// A value for people: nil by its name, data by its size.
  static func shown(_ value: AttributeValue) -> String {
    switch value {
    case .null: "nil"
    case .data(let value) where value.count > 48: Words.bytes(value.count) + " of data"
    case .data(let value):
      value.isEmpty
        ? "no bytes"
        : value.map { byte in
          let text = String(byte, radix: 16)
          return text.count < 2 ? "0" + text : text
        }.joined(separator: " ")
    default: cell(value)
    }
  }

  /// Reads a cell: a value of that type, nil when the text is none.
  static func value(_ text: String, _ type: AttributeType) -> AttributeValue? {
    switch type {
    case .integer16, .integer32, .integer64:
      return Int64(text).map { .integer($0) }.flatMap { $0.fits(type) ? $0 : nil }
    case .boolean:
      switch text.lowercased() {
      case "true", "yes", "1": return .boolean(true)
      case "false", "no", "0": return .boolean(false)
      default: return nil
      }
    case .double: return double(text).map { .double($0) }
    case .float: return float(text).map { .float($0) }
    case .decimal: return decimal(text).map { .decimal($0) }
    case .string: return .string(text)
    case .date: return date(text).map { .date($0) }
    case .binaryData, .transformable: return Data(base64Encoded: text).map { .data($0) }
    case .uuid: return UUID(uuidString: text).map { .uuid($0) }
    case .uri: return URL(string: text).map { .url($0) }
    case .undefined, .objectID, .composite: return nil
    }
  }

  /// Reads a value of JSON; throws the reader's fault when it is none of that type.
  static func value(_ reader: inout JSONReader, _ type: AttributeType) throws -> AttributeValue {
    if reader.takesNull() { return .null }
    switch type {
    case .integer16, .integer32, .integer64:
      let value = AttributeValue.integer(try reader.integer())
      guard value.fits(type) else { throw reader.fault("The number before is too large for \(type)") }
      return value
    case .boolean: return .boolean(try reader.boolean())
    case .double, .date:
      if reader.peek() == UInt8(ascii: "\"") {
        let text = try reader.string()
        if type == .date, let date = date(text) { return .date(date) }
        guard let value = double(text), !value.isFinite else {
          throw reader.fault("“\(text.prefix(60))” is no \(type == .date ? "date" : "number")")
        }
        return type == .date ? .date(Date(timeIntervalSinceReferenceDate: value)) : .double(value)
      }
      // A number as JSON writes it needs no second look.
      let text = try reader.number()
      guard let value = Double(text), value.isFinite else {
        throw reader.fault("\(text.prefix(40)) is too large a number")
      }
      return type == .date ? .date(Date(timeIntervalSinceReferenceDate: value)) : .double(value)
    case .float:
      let isText = reader.peek() == UInt8(ascii: "\"")
      let text = isText ? Substring(try reader.string()) : try reader.number()
      guard let value = float(text), value.isFinite != isText else {
        throw reader.fault("“\(text.prefix(60))” is no number for a float")
      }
      return .float(value)
    case .decimal:
      let text = reader.peek() == UInt8(ascii: "\"") ? Substring(try reader.string()) : try reader.number()
      guard let value = decimal(text) else { throw reader.fault(refusal(text, type)) }
      return .decimal(value)
    case .string: return .string(try reader.string())
    default:
      let text = try reader.string()
      guard let value = value(text, type) else {
        throw reader.fault("“\(text.prefix(60))” is no \(type)")
      }
      return value
    }
  }
}
