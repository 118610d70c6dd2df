import CoreData
import Testing

/// Keeps dates.
private final class DateKeeper: NSSecureUnarchiveFromDataTransformer {
  override class var allowedTopLevelClasses: [AnyClass] { [NSDate.self] }
}

private enum Nest {
  final class Stranger: NSManagedObject {}
}

/// Has no order.
private struct Feather {}

@Suite("What is said of values that do not fit")
struct MessageTests {
  private static let name = NSValueTransformerName("coredata.tests.dates")

  private func stand(transformer name: String) throws -> BirdStand {
    try BirdStand {
      let rung = NSAttributeDescription()
      rung.name = "rung"
      rung.attributeType = .transformableAttributeType
      rung.isOptional = true
      rung.valueTransformerName = name
      $0.entitiesByName["Bird"]?.properties.append(rung)
    }
  }

  private func words(_ body: () throws -> Void) -> String {
    do {
      try body()
      return ""
    } catch { return (error as NSError).localizedDescription }
  }

  @Test("A value that a transformer does not keep: its class, and the classes that are kept")
  func transformer() throws {
    ValueTransformer.setValueTransformer(DateKeeper(), forName: Self.name)
    let context = try stand(transformer: Self.name.rawValue).context()
    let bird = Bird(context: context)
    bird.setValue(NSUUID(), forKey: "rung")
    let told = words { try context.save() }
    #expect(told.contains("NSUUID") && told.contains("NSDate"), "\(told)")
  }

  @Test("A transformer that is not there: what registers it")
  func unregistered() {
    let told = words { _ = try stand(transformer: "coredata.tests.nobody") }
    #expect(told.contains("ValueTransformer.setValueTransformer(_:forName:)"), "\(told)")
  }

  @Test("A set with a member that is no object: the member's class")
  func member() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let context = try BirdStand().stocked()
      Site(context: context).setValue(NSSet(array: [Bird(context: context), NSDate()]), forKey: "birds")
    }
    let told = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(told.contains("Site.birds") && told.contains("Date"), "\(told)")
  }

  private func told(_ result: ExitTest.Result?) -> String {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
  }

  @Test("A class that no entity has: what code for Core Data writes")
  func classWithoutEntity() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Nest.Stranger(context: try BirdStand().context())
    }
    let told = told(result)
    #expect(
      told.contains("managedObjectClass = Stranger.self") && told.contains("managedObjectClassName"),
      "\(told)")
  }

  @Test("Values without an order: their types, not those of optionals")
  func unordered() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = NSSortDescriptor(key: "self", ascending: true).compare(Feather(), to: Feather())
    }
    let told = told(result)
    #expect(told.contains("a value of type Feather") && !told.contains("Optional"), "\(told)")
  }
}
