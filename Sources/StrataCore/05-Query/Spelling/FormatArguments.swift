/// The arguments of a format string, taken one after the other or by their numbers.
struct FormatArguments {
  private let values: [Any?]
  private var isUsed: [Bool]
  private var next = 0

  init(_ values: [Any?]) {
    self.values = values
    isUsed = [Bool](repeating: false, count: values.count)
  }

  /// The numbers of the arguments that nothing asked for, from 1.
  var unused: [Int] { isUsed.indices.filter { !isUsed[$0] }.map { $0 + 1 } }

  /// The argument that belongs here and its number.
  mutating func take(_ number: Int?) throws(FormatArgumentError) -> (value: Any?, number: Int) {
    let place = number.map { $0 - 1 } ?? next
    if number == nil { next += 1 }
    guard values.indices.contains(place) else { throw .missing(place + 1) }
    isUsed[place] = true
    return (values[place], place + 1)
  }

  /// An argument as a value.
  ///
  /// - Throws: In words, why it does not fit.
  static func expression(_ value: Any?, _ kind: FormatArgumentKind) throws(PredicateArgumentError)
    -> FetchExpression
  {
    switch kind {
    case .value, .keyPath:
      do { return try FetchExpression(argument: value) } catch let error as PredicateArgumentError {
        throw error
      } catch { throw PredicateArgumentError("\(error)") }
    case .integer: return .constant(try number(value, .integer64, "a whole number"))
    case .double: return .constant(try number(value, .double, "a number"))
    case .string:
      guard let value, !isNilValue(value), case .string(let text)? = AttributeValue(value, type: .string)
      else {
        throw PredicateArgumentError("%s stands for a text")
      }
      return .constant(.string(text))
    }
  }

  private static func number(_ value: Any?, _ type: AttributeType, _ words: String)
    throws(PredicateArgumentError) -> AttributeValue
  {
    guard let value, !isNilValue(value), let number = AttributeValue(value, type: type), !number.isNull else {
      throw PredicateArgumentError("\(words) is needed")
    }
    return number
  }
}

/// What is wrong with an argument, apart from its value.
enum FormatArgumentError: Error {
  /// There is no argument of that number.
  case missing(Int)
}
