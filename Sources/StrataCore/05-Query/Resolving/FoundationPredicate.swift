/// Foundation's `#Predicate` as a part of a ``FetchPredicate``. The request that uses it translates it, since the model is known then.
///
/// Two are equal when one is a copy of the other: what Foundation keeps cannot be compared.
public struct FoundationPredicate: Sendable, Hashable, CustomStringConvertible {
  /// The `Predicate` itself.
  let predicate: any Sendable
  /// The class that it is about.
  let subject: String
  /// Translates it: what does is on a higher floor.
  let translate: @Sendable (EntitySchema, Schema) throws -> FetchPredicate
  private let identity = Identity()

  private final class Identity: Sendable {}

  init(
    _ predicate: any Sendable, about subject: String,
    _ translate: @escaping @Sendable (EntitySchema, Schema) throws -> FetchPredicate
  ) {
    self.predicate = predicate
    self.subject = subject
    self.translate = translate
  }

  public static func == (left: FoundationPredicate, right: FoundationPredicate) -> Bool {
    left.identity === right.identity
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(identity)) }

  /// `#Predicate<Book>`. This is no format string; `FetchPredicate(_:model:)` makes a predicate that has one.
  public var description: String { "#Predicate<\(subject)>" }
}

extension FetchPredicate {
  /// Whether a part of it is Foundation's.
  var holdsFoundation: Bool {
    switch self {
    case .everything, .nothing: false
    case .foundation: true
    case .not(let part): part.holdsFoundation
    case .and(let parts), .or(let parts): parts.contains(where: \.holdsFoundation)
    // What is inside a sub-query is translated when that is resolved.
    case .compare: false
    }
  }

  /// The same without parts of Foundation's, for a request about `entity`.
  ///
  /// - Throws: `PredicateTranslationError` for what no store can look up, naming it.
  func spelledOut(_ entity: EntitySchema, _ schema: Schema) throws -> FetchPredicate {
    guard holdsFoundation else { return self }
    switch self {
    case .everything, .nothing, .compare: return self
    case .foundation(let predicate): return try predicate.translate(entity, schema)
    case .not(let part): return .not(try part.spelledOut(entity, schema))
    case .and(let parts): return .and(try parts.map { try $0.spelledOut(entity, schema) })
    case .or(let parts): return .or(try parts.map { try $0.spelledOut(entity, schema) })
    }
  }
}
