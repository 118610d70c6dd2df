import Foundation
import Strata
import StrataCore
import Testing
import TortureKit

@testable import StrataPostgres

#if os(Linux)
  /// A process that can hardly open another descriptor when it opens a store on a server.
  @Suite struct DescriptorTests {
    fileprivate static func model() -> ManagedObjectModel {
      ManagedObjectModel(entities: [
        EntityDescription("Note", properties: [AttributeDescription("title", .string)])
      ])
    }

    @Test("a store that is opened with hardly any descriptor left throws, or works", arguments: 0...8)
    func hardlyAnyDescriptorIsLeft(spare: Int) async throws {
      let url = try TestServer.required().url(TestServer.freshNamespace())
      defer { try? PostgresStores.destroy(at: url) }
      await #expect(processExitsWith: .success) {
        [address = url.absoluteString as String, spare = spare as Int] in
        let coordinator = PersistentStoreCoordinator(managedObjectModel: Self.model())
        let context = ManagedObjectContext(.privateQueue, coordinator: coordinator)
        context.automaticallyMergesChangesFromParent = true
        OpenDescriptors.takeAll(but: spare)
        do {
          try coordinator.addPostgresStore(at: try #require(URL(string: address)))
        } catch let error as StorageError {
          #expect(spare < 8 && (spare > 3 || error.kind == .outOfMemory), "\(error)")
        }
        // Whoever follows the store looks again after a few milliseconds: the process lives on.
        usleep(120_000)
      }
    }
  }
#endif
