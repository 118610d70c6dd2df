import StrataCore

/// The context whose predicate is being translated: it knows which row an identifier is of.
enum IdentifierScope {
  @TaskLocal private static var current: Scope?

  private struct Scope: @unchecked Sendable {
    // @unchecked Sendable: set and read inside one call, on one thread; task-local values must be Sendable.
    let context: ModelContext
  }

  /// Calls `body`, which translates a predicate for `context`.
  static func with<R>(_ context: ModelContext, _ body: () throws -> R) rethrows -> R {
    try $current.withValue(Scope(context: context), operation: body)
  }

  /// The row as stores know it; nil for one that the context does not have.
  static func objectID(of identifier: PersistentIdentifier) -> ManagedObjectID? {
    guard let context = current?.context else {
      if case .row(let id) = identifier.id.form { return id }
      return nil
    }
    if case .temporary(let number, _) = identifier.id.form {
      return context.temporaryRows[number]?.objectID
    }
    return context.objectID(of: identifier)
  }
}

extension PersistentIdentifier: PredicateArgument {
  /// The row; one that no store has for an identifier that means nothing to the context.
  public var predicateExpression: FetchExpression {
    .objects([IdentifierScope.objectID(of: self) ?? .ofNothing()])
  }
}
