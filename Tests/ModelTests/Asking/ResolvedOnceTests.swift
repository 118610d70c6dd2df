import Foundation
import StrataModels
import Testing

/// Counts how often its accessor is called: following a key path calls it.
private final class Counted: ManagedObject {
  static let reads = Mutex(0)
  static let title = Slot<Counted, String>("title")
  override class var entityDeclaration: EntityDeclaration? {
    EntityDeclaration(Counted.self, [title.attribute(default: "")])
  }

  var title: String {
    get {
      Counted.reads.withLock { $0 += 1 }
      return read(Counted.title)
    }
    set { write(newValue, Counted.title) }
  }
}

@Suite("Key paths are followed once for a model")
struct ResolvedOnceTests {
  @Test("The second request with a key path follows none, in another context and by another spelling neither")
  func once() async throws {
    let container = try await PersistentContainer(for: Counted.self, at: .inMemory)
    func reads(_ ask: @escaping @Sendable (ManagedObjectContext) throws -> Void) async throws -> Int {
      let before = Counted.reads.withLock { $0 }
      try await container.performBackgroundTask { context in try ask(context) }
      return Counted.reads.withLock { $0 } - before
    }
    let first = try await reads { _ = try $0.fetch(Counted.self, sortedBy: \.title) }
    #expect(first > 0)
    // Fetched values may be of more types than conditions and orders: their key paths are followed once for themselves.
    _ = try await reads { _ = try $0.fetch(Counted.self, values: \.title) }
    for _ in 0..<3 {
      #expect(try await reads { _ = try $0.fetch(Counted.self, sortedBy: \.title) } == 0)
      #expect(try await reads { _ = try $0.fetch(Counted.self, sortedBy: [SortDescriptor(\.title)]) } == 0)
      #expect(try await reads { _ = try $0.fetch(Counted.self, values: \.title) } == 0)
      #expect(try await reads { _ = try $0.count(Counted.self, where: #Predicate { $0.title == "a" }) } == 0)
    }
  }
}
