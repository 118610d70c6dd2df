import Foundation
import Testing

@testable import StrataCore

/// Stores whose owner is kept by work that another thread is about to end.
struct DyingOwnerTests {
  private let directory: ScratchDirectory
  private let url: URL

  init() throws {
    directory = try ScratchDirectory()
    url = URL(fileURLWithPath: directory("Spots.strata")).resolvingSymlinksInPath()
  }

  private static func model(_ attributes: String...) -> ManagedObjectModel {
    ManagedObjectModel(entities: [
      EntityDescription("Spot", properties: attributes.map { AttributeDescription($0, .string) })
    ])
  }

  /// Opens the store in a context that nothing holds but its last work, which ends a while after `gate` opens.
  private func hold(until gate: DispatchSemaphore) throws {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Self.model("name"))
    try coordinator.addPersistentStore(PersistentStoreDescription(url: url))
    let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
    context.perform {
      gate.wait()
      // Longer than is waited for one that nothing is known of, and shorter than for this.
      usleep(150_000)
      withExtendedLifetime(context) {}
    }
  }

  @Test("A migration waits for a context that is about to end")
  func migrates() throws {
    let gate = DispatchSemaphore(value: 0)
    try hold(until: gate)
    MigrationHooks.set({ if $0 == .looked { gate.signal() } }, for: url.path)
    defer { MigrationHooks.set(nil, for: url.path) }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Self.model("name", "note"))
    var description = PersistentStoreDescription(url: url)
    // On a busy machine the context ends later.
    description.timeout = .seconds(600)
    let store = try coordinator.addPersistentStore(description)
    try coordinator.remove(store)
  }

  @Test("Without time to wait it is refused at once, and the store stays what it is")
  func refuses() throws {
    let gate = DispatchSemaphore(value: 0)
    defer { gate.signal() }
    try hold(until: gate)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: Self.model("name", "note"))
    var description = PersistentStoreDescription(url: url)
    description.timeout = .zero
    let error = #expect(throws: StorageError.self) { _ = try coordinator.addPersistentStore(description) }
    #expect(error?.kind == .busy)
    #expect(try LMDBStore.model(at: url).entities[0].attributesByName["note"] == nil)
  }

  @Test("An errand has let go of what it holds when those who wait for it go on")
  func errands() async {
    for _ in 0..<200 {
      weak var held: Burden?
      let queue = DispatchQueue(label: "errands")
      do {
        let object = Burden()
        held = object
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
          Errand.hand(to: queue) {
            withExtendedLifetime(object) {}
          } then: {
            continuation.resume()
          }
        }
      }
      #expect(held == nil)
    }
  }
}

/// Something to hold.
private final class Burden: Sendable {}
