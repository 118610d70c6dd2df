import StrataCore
import Synchronization

/// Observation's registrar of one model, made when the model is first read by somebody who observes. What `@Model` writes holds one.
///
/// Most models are never observed, and a registrar takes two allocations. From any thread, as a registrar is.
public struct _ModelRegistrar: ~Copyable, Sendable {
  @usableFromInline final class Box: Sendable {
    let registrar = ObservationRegistrar()
  }
  @usableFromInline let box = AtomicLazyReference<Box>()

  /// The registrar of a model that nobody observes.
  @inlinable public init() {}

  /// Somebody reads the property.
  public borrowing func access<Subject, Member>(
    _ subject: Subject, keyPath: @autoclosure () -> KeyPath<Subject, Member>
  ) where Subject: Observable {
    if let box = box.load() { return box.registrar.access(subject, keyPath: keyPath()) }
    guard ManagedObject.isReadObserved else { return }
    box.storeIfNil(Box()).registrar.access(subject, keyPath: keyPath())
    Self.noteObserved(subject)
  }

  /// Whoever observes a draft is known to nobody but its instance, which has to stay when there is a row.
  private static func noteObserved<Subject>(_ subject: Subject) {
    guard let draft = (subject as? any PersistentModel)?.draft else { return }
    draft.isObserved = true
    draft.successor?._hasOwnState = true
  }

  /// Somebody changes the property by calling `mutation`.
  ///
  /// - Throws: what `mutation` throws.
  @inlinable public borrowing func withMutation<Subject, Member, Result>(
    of subject: Subject, keyPath: @autoclosure () -> KeyPath<Subject, Member>, _ mutation: () throws -> Result
  ) rethrows -> Result where Subject: Observable {
    if box.load() == nil { return try mutation() }
    return try tellingObservers(of: subject, keyPath: keyPath(), mutation)
  }

  @usableFromInline borrowing func tellingObservers<Subject, Member, Result>(
    of subject: Subject, keyPath: KeyPath<Subject, Member>, _ mutation: () throws -> Result
  ) rethrows -> Result where Subject: Observable {
    guard let box = box.load() else { return try mutation() }
    return try box.registrar.withMutation(of: subject, keyPath: keyPath, mutation)
  }
}
