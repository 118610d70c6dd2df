/// An actor that works with models of a context of its own. `@ModelActor` writes the conformance.
public protocol ModelActor: Actor {
  /// The container that the context belongs to.
  nonisolated var modelContainer: ModelContainer { get }
  /// What runs the actor's jobs, and has its context.
  nonisolated var modelExecutor: any ModelExecutor { get }
}

extension ModelActor {
  /// The executor, as the runtime asks for it.
  nonisolated public var unownedExecutor: UnownedSerialExecutor {
    guard let executor = modelExecutor as? any SerialModelExecutor else {
      stop("the executor of \(type(of: self)) is no SerialModelExecutor, and an actor runs one job at a time")
    }
    return executor.asUnownedSerialExecutor()
  }

  /// The actor's context. It stays in the actor, as its models do.
  public var modelContext: ModelContext { modelExecutor.modelContext }

  /// The model with the identifier; nil when there is none, or it is of another class.
  public subscript<T>(id: PersistentIdentifier, as as: T.Type) -> T? where T: PersistentModel {
    modelContext.existingModel(for: id) as? T
  }
}
