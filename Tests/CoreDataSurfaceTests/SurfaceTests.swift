import CoreData
import Testing

// The files beside this one use each declaration of Core Data's that programs for Linux can use, with its type where it has one. That they compile is the test: a
// name, a label or a type that is lost does not. Nothing of it is run. The lists were written once; a declaration that comes later is added by hand.

/// A property that can be set, of that type.
func takesEdits<Value>(_ value: inout Value, _ type: Value.Type) {}

/// What a block may throw.
func throwing<Value>(_ value: Value) throws -> Value { value }

/// Foundation on Linux calls the property deprecated.
@available(*, deprecated) private func useText(of it: NSPredicate) { let _: String = it.predicateFormat }

@Suite("Surface")
struct SurfaceTests {
  @Test("Every declaration is there with its type: constants have Core Data's texts")
  func constants() {
    #expect(NSSQLiteErrorDomain == "NSSQLiteErrorDomain" && NSDetailedErrorsKey == "NSDetailedErrors")
    #expect(
      NSNotification.Name.NSManagedObjectContextDidSave.rawValue
        == "NSManagingContextDidSaveChangesNotification")
  }
}
