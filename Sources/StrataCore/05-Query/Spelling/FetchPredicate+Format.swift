import Foundation

extension FetchPredicate {
  /// A predicate written as text, with Core Data's grammar; see Docs/Queries.md.
  ///
  ///     try FetchPredicate(format: "origin == %@ AND departureDelay > %d", "JFK", 60)
  ///     try FetchPredicate(format: "ANY flights.distance BETWEEN {100, 200}")
  ///
  /// Arguments become parts of the tree and never pass through text: a value cannot be taken for syntax. `%@` takes any value
  /// of ``PredicateArgument``, `%K` a key path, `%d` and its like a whole number, `%f` a number, `%s` a text; `%2$@` is the second
  /// argument. Keys are looked up, and types checked, when the predicate is used.
  ///
  /// - Throws: ``PredicateSyntaxError``, which tells the place: for a text that is no predicate, for arguments that are missing, left
  ///   over or do not fit, and for what Core Data's grammar has but cannot be evaluated.
  public init(format: String, _ arguments: Any?...) throws {
    self = try FormatParser.predicate(format, arguments)
  }

  /// A predicate written as text, with its arguments in an array.
  ///
  /// - Throws: ``PredicateSyntaxError``; see `init(format:_:)`.
  public init(format: String, argumentArray: [Any?]?) throws {
    self = try FormatParser.predicate(format, argumentArray ?? [])
  }

  /// A predicate written as text without arguments, whose `OBJECTS('…')` names objects as `objects` reads them, and whose `CAST('…', 'date')` is the date that `dates` reads.
  ///
  /// - Throws: ``PredicateSyntaxError``; what `objects` throws.
  package init(
    format: String, dates: @escaping (String) -> Date?,
    objects: @escaping (String) throws -> ManagedObjectID
  ) throws {
    self = try FormatParser.predicate(format, [], objects: objects, dates: dates)
  }

  /// A predicate for memory: its functions may be those of ``MemoryCall``, which no store resolves.
  ///
  /// - Throws: ``PredicateSyntaxError``; see `init(format:_:)`.
  package init(memoryFormat format: String, _ arguments: [Any?]) throws {
    self = try FormatParser.predicate(format, arguments, allowsMemory: true)
  }

  /// The predicate as a format string, which `FetchPredicate(format:)` reads back. Values without a literal are written as casts.
  public var predicateFormat: String { FormatText.predicate(self) }
}

extension FetchExpression {
  /// An expression written as text: `departureDelay * 60`, `max:(distance)`, `flights.@count`.
  ///
  /// - Throws: ``PredicateSyntaxError``; see `FetchPredicate.init(format:_:)`.
  public init(format: String, _ arguments: Any?...) throws {
    self = try FormatParser.expression(format, arguments)
  }

  /// An expression written as text, with its arguments in an array.
  ///
  /// - Throws: ``PredicateSyntaxError``; see `FetchPredicate.init(format:_:)`.
  public init(format: String, argumentArray: [Any?]?) throws {
    self = try FormatParser.expression(format, argumentArray ?? [])
  }

  /// An expression for memory: its functions may be those of ``MemoryCall``, which no store resolves.
  ///
  /// - Throws: ``PredicateSyntaxError``; see `FetchPredicate.init(format:_:)`.
  package init(memoryFormat format: String, _ arguments: [Any?]) throws {
    self = try FormatParser.expression(format, arguments, allowsMemory: true)
  }
}

extension FetchPredicate: CustomStringConvertible {
  /// The predicate as a format string; see ``predicateFormat``.
  public var description: String { FormatText.predicate(self) }
}

extension FetchComparison: CustomStringConvertible {
  /// The comparison as a format string.
  public var description: String { FormatText.comparison(self) }
}

extension FetchExpression: CustomStringConvertible {
  /// The expression as a format string.
  public var description: String { FormatText.expression(self) }
}
