/// A call that is evaluated in memory only, as it stands in the tree that the reader of format strings gives: a key of its
/// arguments that nothing has. What reads such trees takes the calls out again; a store would refuse them.
package struct MemoryCall {
  /// What is called.
  package enum Kind: Character {
    /// A function by its name: `median:(x)`.
    case function = "\u{1}"
    /// A function of the first argument: `FUNCTION($manager, 'name:', x)`.
    case method = "\u{2}"
    /// A fetch: `FETCH(request, context, NO)`. It has no name; the last argument is a Boolean.
    case fetch = "\u{3}"
  }

  /// What is called.
  package let kind: Kind
  /// The name with a colon for each argument: `median:`.
  package let name: String
  /// What it is called with.
  package let arguments: [FetchExpression]

  init(_ kind: Kind = .function, name: String, arguments: [FetchExpression]) {
    self.kind = kind
    self.name = name
    self.arguments = arguments
  }

  /// One element of a list or dictionary: of what, and its place or key.
  static func element(of parts: [FetchExpression]) -> FetchExpression {
    MemoryCall(name: "objectFrom:withIndex:", arguments: parts).expression
  }

  var expression: FetchExpression {
    .keyPath(base: .list(arguments), keys: ["\(kind.rawValue)\(name)"])
  }

  /// The call that a key path begins with, and the keys behind it; nil for every other key path.
  package static func read(_ base: FetchExpression, _ keys: [String]) -> (call: MemoryCall, keys: [String])? {
    guard case .list(let arguments) = base, let first = keys.first, let mark = first.first,
      let kind = Kind(rawValue: mark)
    else { return nil }
    let call = MemoryCall(kind, name: String(first.dropFirst()), arguments: arguments)
    return (call, Array(keys.dropFirst()))
  }

  /// Why no store evaluates the function of that name, where memory does; nil for every other name.
  package static func refusal(_ selector: String) -> String? { FormatFunction.inMemory(selector)?.reason }
}
