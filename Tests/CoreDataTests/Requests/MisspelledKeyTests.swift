import CoreData
import Testing

@Suite("Misspelled keys of requests")
struct MisspelledKeyTests {
  let stand: BirdStand
  let context: NSManagedObjectContext

  init() throws {
    stand = try BirdStand()
    context = try stand.stocked()
  }

  /// What a fetch of birds says that must fail.
  private func message(_ change: (NSFetchRequest<Bird>) -> Void) -> String {
    let request = NSFetchRequest<Bird>(entityName: "Bird")
    change(request)
    do {
      _ = try context.fetch(request)
      return "the fetch was executed"
    } catch {
      #expect((error as NSError).code == 134_060)
      return (error as NSError).localizedDescription
    }
  }

  @Test("The error names the entity, the key, where it stands, and a similar name")
  func sortKey() {
    let found = message { $0.sortDescriptors = [NSSortDescriptor(key: "taly", ascending: true)] }
    #expect(
      found
        == "The entity Bird has no attribute named “taly” (in the sort key “taly”). Did you mean “tally”?")
    let related = message { $0.sortDescriptors = [NSSortDescriptor(key: "site.nam", ascending: true)] }
    #expect(
      related
        == "The entity Site has no attribute named “nam” (in the sort key “site.nam”). Did you mean “name”?")
    let other = message { $0.sortDescriptors = [NSSortDescriptor(key: "zzzzzz", ascending: true)] }
    #expect(other == "The entity Bird has no attribute named “zzzzzz” (in the sort key “zzzzzz”).")
  }

  @Test("So do errors of predicates and of what is fetched ahead")
  func otherParts() {
    let predicate = message { $0.predicate = NSPredicate(format: "Weight > 3") }
    #expect(
      predicate
        == "The entity Bird has no attribute named “Weight” (in the predicate). Did you mean “weight”?")
    let ahead = message { $0.relationshipKeyPathsForPrefetching = ["sites"] }
    #expect(ahead.hasPrefix("The entity Bird has no relationship named “sites”"), "\(ahead)")
    #expect(ahead.hasSuffix("Did you mean “site”?"), "\(ahead)")
  }
}
