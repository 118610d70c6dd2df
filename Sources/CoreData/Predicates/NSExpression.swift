import StrataCore

/// A value computed for an object: what stands on either side of a comparison, and in a column of a dictionary result.
///
/// A tree that does not change once it is made. A fetch takes those trees whose leaves are key paths, values that attributes have, objects,
/// variables, and functions that stores evaluate; in memory, blocks and set expressions work as well.
///
/// Foundation on Linux has an unavailable class of the same name. In a file that imports both modules a type is written
/// `CoreData.NSExpression`, or the target declares `typealias NSExpression = CoreData.NSExpression` once.
///
/// Archives hold an expression as its format string, so those are archived that a store could evaluate. Archiving a block, a set expression, a fetch or a
/// constant of another type traps.
open class NSExpression: NSObject, NSSecureCoding, NSCopying {
  /// What an expression is.
  public enum ExpressionType: UInt, Sendable {
    case constantValue = 0
    case evaluatedObject = 1
    case variable = 2
    case keyPath = 3
    case function = 4
    case unionSet = 5
    case intersectSet = 6
    case minusSet = 7
    case subquery = 13
    case aggregate = 14
    case anyKey = 15
    case block = 19
    case conditional = 20
    /// A fetch inside an expression; see `NSFetchRequestExpressionType`.
    case fetchRequest = 50
  }

  /// What blocks in expressions look like: the object, the arguments, the context.
  public typealias Block = (Any?, [NSExpression], NSMutableDictionary?) -> Any

  indirect enum Kind {
    case constant(Any?)
    case evaluatedObject
    case variable(String)
    case keyPath(NSExpression?, String)
    case swiftKeyPath(AnyKeyPath)
    case function(NSExpression?, String, [NSExpression])
    case set(ExpressionType, NSExpression, NSExpression)
    case subquery(NSExpression, String, NSPredicate)
    case aggregate([NSExpression])
    case anyKey
    case block(Block, [NSExpression])
    case conditional(NSPredicate, NSExpression, NSExpression)
    case fetch(NSExpression, NSExpression, Bool)
  }

  let kind: Kind

  init(_ kind: Kind) { self.kind = kind }

  /// An expression without parts: the evaluated object, or any key. Other types have initialisers of their own; asking for them here traps.
  public init(expressionType type: ExpressionType) {
    switch type {
    case .evaluatedObject: kind = .evaluatedObject
    case .anyKey: kind = .anyKey
    default: stop("NSExpression(expressionType: .\(type)) has no parts; use the initialiser for that type.")
    }
  }

  /// A value.
  public init(forConstantValue obj: Any?) { kind = .constant(plain(obj)) }

  /// What a key path leads to, collection operators included: `plane.seats`, `flights.@count`. One that begins with a variable, `$x.seats`, leads on from the variable's value, as
  /// it does in a format; its `keyPath` is what follows the variable, its `operand` the variable.
  public init(forKeyPath keyPath: String) {
    if let dot = keyPath.firstIndex(of: "."), let name = Self.variableName(keyPath[..<dot]) {
      kind = .keyPath(NSExpression(.variable(name)), String(keyPath[keyPath.index(after: dot)...]))
    } else {
      kind = .keyPath(nil, keyPath)
    }
  }

  /// The name in `$name`; nil for everything else.
  private static func variableName(_ text: Substring) -> String? {
    guard text.first == "$", let first = text.dropFirst().first, first.isLetter || first == "_",
      text.dropFirst().allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" })
    else { return nil }
    return String(text.dropFirst())
  }

  /// What a Swift key path leads to. In memory it is followed; a fetch looks up the stored properties that it reads, by their names, and throws when
  /// it computes something of them.
  public convenience init<Root, Value>(forKeyPath keyPath: KeyPath<Root, Value>) {
    self.init(.swiftKeyPath(keyPath))
  }

  /// A value that is given when the predicate is used, or the element a sub-query looks at; without the `$`.
  public init(forVariable string: String) { kind = .variable(string) }

  /// A function by its name: `sum:`, `add:to:`, `lowercase:`, `now`. Arguments are expressions; other values become constants.
  public init(forFunction name: String, arguments parameters: [Any]) {
    kind = .function(nil, name, Self.expressions(parameters))
  }

  /// A function of an object. There are no selectors that could be sent; `valueForKey:` and `valueForKeyPath:` are evaluated.
  public init(forFunction target: NSExpression, selectorName name: String, arguments parameters: [Any]?) {
    kind = .function(target, name, Self.expressions(parameters ?? []))
  }

  /// A list of expressions.
  public init(forAggregate subexpressions: [NSExpression]) { kind = .aggregate(subexpressions) }

  /// The elements of both sides. In memory only.
  public init(forUnionSet left: NSExpression, with right: NSExpression) {
    kind = .set(.unionSet, left, right)
  }

  /// The elements that both sides have. In memory only.
  public init(forIntersectSet left: NSExpression, with right: NSExpression) {
    kind = .set(.intersectSet, left, right)
  }

  /// The elements of the left side that the right one does not have. In memory only.
  public init(forMinusSet left: NSExpression, with right: NSExpression) {
    kind = .set(.minusSet, left, right)
  }

  /// The elements for which a predicate is true; the predicate calls an element by the variable.
  public init(
    forSubquery expression: NSExpression, usingIteratorVariable variable: String, predicate: NSPredicate
  ) {
    kind = .subquery(expression, variable.first == "$" ? String(variable.dropFirst()) : variable, predicate)
  }

  /// One value where the predicate is true, another elsewhere.
  public init(
    forConditional predicate: NSPredicate, trueExpression: NSExpression, falseExpression: NSExpression
  ) {
    kind = .conditional(predicate, trueExpression, falseExpression)
  }

  /// What a block makes of the object. In memory only.
  public init(block: @escaping Block, arguments: [NSExpression]?) { kind = .block(block, arguments ?? []) }

  /// An expression written as text, with arguments for its `%@` and `%K`. A wrong text traps and names the place.
  public convenience init(format expressionFormat: String, _ args: Any?...) {
    self.init(format: expressionFormat, spelledArguments: args)
  }

  /// The same with its arguments in an array.
  public convenience init(format expressionFormat: String, argumentArray arguments: [Any]) {
    self.init(format: expressionFormat, spelledArguments: arguments)
  }

  private convenience init(format: String, spelledArguments arguments: [Any?]) {
    var opaque = OpaqueArguments()
    let readable = opaque.readable(arguments)
    do {
      self.init(opaque.kind(of: try FetchExpression(memoryFormat: format, readable)))
    } catch { stop("NSExpression(format:): \(error)") }
  }

  /// The object itself.
  open class func expressionForEvaluatedObject() -> NSExpression { NSExpression(.evaluatedObject) }

  /// Any key; no store and nothing in memory evaluates it.
  open class func expressionForAnyKey() -> NSExpression { NSExpression(.anyKey) }

  private static func expressions(_ parameters: [Any]) -> [NSExpression] {
    parameters.map { $0 as? NSExpression ?? NSExpression(forConstantValue: $0) }
  }

  /// The value for an object. `context` holds variables by name, and is handed to blocks.
  ///
  /// A number is an `NSNumber`, a decimal an `NSDecimalNumber`, as Core Data's: `as? Double` takes `4 + 2`, and `as? Int` takes `2**3`. So are the numbers in a list that
  /// is computed, and in lists in it. A key path through a to-many relationship gives what `value(forKeyPath:)` gives, a set of the members' values.
  open func expressionValue(with object: Any?, context: NSMutableDictionary?) -> Any? {
    MemoryEvaluation(object, context: context).handedOut(self).map { Self.withFoundationNumbers($0) }
  }

  private static func withFoundationNumbers(_ value: Any) -> Any {
    // By type first: a cast would make one of other lists, too.
    guard type(of: value) == [Any].self, let elements = value as? [Any] else {
      return FoundationNumbers.handedOut(value)
    }
    return elements.map { withFoundationNumbers($0) }
  }

  /// Does nothing: what is read from an archive can do what a format string can, and calls no methods.
  open func allowEvaluation() {}

  public static var supportsSecureCoding: Bool { true }

  /// Nil when what was archived is no expression.
  public required init?(coder: NSCoder) {
    guard let text = coder.decodeObject(of: NSString.self, forKey: Self.codingKey) as String?,
      let tree = try? FetchExpression(format: text)
    else { return nil }
    kind = OpaqueArguments().kind(of: tree)
  }

  /// Traps for an expression that has no format string, or one that is not read back as the same.
  open func encode(with coder: NSCoder) {
    let text = PredicateText.text(self)
    guard let tree = try? FetchLowering().expression(self), (try? FetchExpression(format: text)) == tree
    else {
      stop("This expression cannot be archived, since nothing could read it again: \(text).")
    }
    coder.encode(text as NSString, forKey: Self.codingKey)
  }

  private static var codingKey: String { "format" }

  open func copy(with zone: NSZone? = nil) -> Any { self }
  open override func copy() -> Any { self }

  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSExpression else { return false }
    return self === other || PredicateText.isSame(self, other)
  }

  open override var hash: Int { PredicateText.hash(self) }

  /// The expression as a format string.
  open override var description: String { PredicateText.text(self) }
}
