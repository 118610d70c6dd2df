import StrataCore

/// How a context is confined.
public typealias NSManagedObjectContextConcurrencyType = StrataCore.ConcurrencyType

extension NSManagedObjectContextConcurrencyType {
  /// Confined to the thread that made it.
  public static var confinementConcurrencyType: Self { .confinement }
  /// Has a private queue.
  public static var privateQueueConcurrencyType: Self { .privateQueue }
  /// Lives on the main queue.
  public static var mainQueueConcurrencyType: Self { .mainQueue }

  /// The type that `type` stands for.
  public init(rawValue type: NSManagedObjectContextConcurrencyType) { self = type }
}

extension NSManagedObjectContext {
  /// How a context is confined.
  public typealias ConcurrencyType = NSManagedObjectContextConcurrencyType
  /// When an asynchronous `perform` runs its block.
  public typealias ScheduledTaskType = StrataCore.ScheduledTaskType

  /// Makes a context that gets its coordinator or its parent afterwards.
  public convenience init(concurrencyType: NSManagedObjectContextConcurrencyType) {
    self.init(foundation: concurrencyType)
  }

  /// Makes a context that gets its coordinator or its parent afterwards.
  public convenience init(_ type: NSManagedObjectContextConcurrencyType) { self.init(foundation: type) }

  /// Makes a context confined to the calling thread.
  public convenience init() { self.init(foundation: .confinement) }
}
