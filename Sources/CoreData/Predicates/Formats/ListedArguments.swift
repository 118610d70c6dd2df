import CVariableArguments
import Foundation

/// The arguments of a format string off a C list: `withVaList` makes one, and a function that passes on its own arguments has one.
///
/// The format string says what is in the list, as for `printf`: one that says something else reads what is not there.
enum ListedArguments {
  /// What stands in the list for one `%`.
  private struct Conversion {
    let kind: Character
    let value: (UInt64) -> Any?
  }

  /// The arguments in their order. Traps for what cannot be read off a list: numbered arguments, `long double`.
  static func values(_ format: String, _ list: CVaListPointer) -> [Any?] {
    let conversions = conversions(Array(format.unicodeScalars))
    if conversions.isEmpty { return [] }
    var bits = [UInt64](repeating: 0, count: conversions.count)
    variable_arguments_take(String(conversions.map(\.kind)), list, &bits)
    return zip(conversions, bits).map { $0.value($1) }
  }

  /// What the `%`s ask for that are not in quotes.
  private static func conversions(_ text: [Unicode.Scalar]) -> [Conversion] {
    var found: [Conversion] = []
    var place = 0
    var quote: Unicode.Scalar?
    while place < text.count {
      let scalar = text[place]
      place += 1
      if let open = quote {
        if scalar == "\\" { place += 1 } else if scalar == open { quote = nil }
      } else if scalar == "'" || scalar == "\"" {
        quote = scalar
      } else if scalar == "%" {
        if let conversion = conversion(text, &place) { found.append(conversion) }
      }
    }
    return found
  }

  private static func conversion(_ text: [Unicode.Scalar], _ place: inout Int) -> Conversion? {
    var isLong = false
    while place < text.count {
      let scalar = text[place]
      place += 1
      switch scalar {
      case "l", "q", "z", "t", "j": isLong = true
      case "h": continue
      case "@", "K": return Conversion(kind: "p", value: object)
      case "s": return Conversion(kind: "p", value: string)
      case "d", "i": return isLong ? long : Conversion(kind: "i") { Int(Int64(bitPattern: $0)) }
      case "u", "x", "X", "o":
        return isLong
          ? Conversion(kind: "l") { $0 } : Conversion(kind: "u") { UInt($0) }
      case "f", "F", "e", "E", "g", "G", "a", "A":
        return Conversion(kind: "f") { Double(bitPattern: $0) }
      default:
        if ("0"..."9").contains(scalar) || scalar == "$" || scalar == "L" {
          stop("arguments off a list are taken in their order; “%\(scalar)” cannot be. Use argumentArray:.")
        }
        // No argument: the reader of the format says what is wrong.
        place -= 1
        return nil
      }
    }
    return nil
  }

  private static var long: Conversion { Conversion(kind: "l") { Int(Int64(bitPattern: $0)) } }

  private static func object(_ bits: UInt64) -> Any? {
    guard let address = UnsafeRawPointer(bitPattern: UInt(bits)) else { return nil }
    // The caller holds what its list points to until the call returns, and the format says that it is an object.
    let object = Unmanaged<AnyObject>.fromOpaque(address).takeUnretainedValue()
    if let text = object as? ListedText { return text.value }
    return (object as? NSString).map { String($0) } ?? object
  }

  private static func string(_ bits: UInt64) -> Any? {
    // As before: a text of C that ends with a zero.
    UnsafePointer<CChar>(bitPattern: UInt(bits)).map { String(cString: $0) }
  }
}

extension FormatReadable where Self: NSPredicate {
  /// The same with its arguments in a C list, as `withVaList` makes it. The format must ask for what is in the list.
  public init(format predicateFormat: String, arguments argList: CVaListPointer) {
    self.init(
      format: predicateFormat,
      argumentArray: ListedArguments.values(predicateFormat, argList).map { $0 ?? NSNull() })
  }
}

extension NSExpression {
  /// The same with its arguments in a C list, as `withVaList` makes it. The format must ask for what is in the list.
  public convenience init(format expressionFormat: String, arguments argList: CVaListPointer) {
    self.init(
      format: expressionFormat,
      argumentArray: ListedArguments.values(expressionFormat, argList).map { $0 ?? NSNull() })
  }
}
