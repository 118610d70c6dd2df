import StrataCore

extension NSManagedObjectContext {
  /// How a context is confined, by the names that Swift code has for it.
  public struct ConcurrencyType: RawRepresentable, Hashable, Sendable {
    /// The same by the older names.
    public var rawValue: NSManagedObjectContextConcurrencyType
    /// The type of that older name.
    public init(rawValue: NSManagedObjectContextConcurrencyType) { self.rawValue = rawValue }

    /// Has a private queue.
    public static var privateQueue: Self { Self(rawValue: .privateQueueConcurrencyType) }
    /// Lives on the main queue.
    public static var mainQueue: Self { Self(rawValue: .mainQueueConcurrencyType) }
  }
  /// When an asynchronous `perform` runs its block.
  public typealias ScheduledTaskType = StrataCore.ScheduledTaskType

  /// Makes a context that gets its coordinator or its parent afterwards.
  public convenience init(_ type: ConcurrencyType) { self.init(concurrencyType: type.rawValue) }

  /// The same as `init(concurrencyType:)`.
  @_disfavoredOverload
  public convenience init(_ type: NSManagedObjectContextConcurrencyType) {
    self.init(concurrencyType: type)
  }

  /// The same as `init()`, from the days of Objective-C.
  public static func new() -> NSManagedObjectContext { NSManagedObjectContext() }
}
