import Foundation
import Testing

@testable import StrataCore

@Suite struct CoreDataErrorTests {
  @Test("As NSError: Core Data's domain, code and user info (rules 348–354)")
  func errorsBridge() {
    let error = CoreDataError(
      .validationMissingMandatoryProperty, "name is required.",
      userInfo: [CoreDataError.Key.validationKey: "name"])
    let bridged = error as NSError
    #expect(bridged.domain == "NSCocoaErrorDomain" && bridged.code == 1570)
    #expect(bridged.userInfo["NSValidationErrorKey"] as? String == "name")
    #expect(
      bridged.localizedDescription == "name is required." && error.localizedDescription == "name is required."
    )
  }

  @Test("The codes of rules 348–353")
  func codesAreCoreDatas() {
    #expect(CoreDataError.Code.managedObjectMerge.rawValue == 133_020)
    #expect(CoreDataError.Code.persistentStoreIncompatibleVersionHash.rawValue == 134_100)
    #expect(CoreDataError.Code.allCases.count == 50)
  }

  @Test func everyErrorSaysASentence() {
    for code in CoreDataError.Code.allCases {
      let error: any Error = CoreDataError(code, userInfo: [CoreDataError.Key.validationKey: "name"])
      #expect(error.localizedDescription == code.sentence)
      #expect((error as NSError).localizedDescription == code.sentence)
      #expect((error as NSError).userInfo[CoreDataError.Key.validationKey] as? String == "name")
      #expect(CoreDataError(code, "mine").localizedDescription == "mine")
    }
  }
}
