use keyloom::prelude::*;

#[keyloom::design(
    table(school, pk, sk, index(GSI1, gsi1pk, gsi1sk)),
    title = "Enrollments",
    description = "Courses of a student, students of a course",
    relationship("enrollment", from = Student, to = Course, kind = "many-to-many", through = Enrollment, on(student_id)),
)]
pub mod enrollments {
    use super::*;

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(pk = "STUDENT#{student_id}", sk = "PROFILE")]
    pub struct Student {
        #[field(type = "token", max = 20)]
        pub student_id: String,
        #[field(max = 100)]
        pub name: String,
    }

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(pk = "COURSE#{course_id}", sk = "INFO")]
    pub struct Course {
        #[field(type = "token", max = 20)]
        pub course_id: String,
        #[field(max = 100)]
        pub title: String,
    }

    #[derive(Entity, Serialize, Deserialize, Clone, Debug, PartialEq)]
    #[entity(pk = "STUDENT#{student_id}", sk = "COURSE#{course_id}", gsi1pk = "COURSE#{course_id}", gsi1sk = "STUDENT#{student_id}")]
    pub struct Enrollment {
        #[field(type = "token", max = 20)]
        pub student_id: String,
        #[field(type = "token", max = 20)]
        pub course_id: String,
        #[field(type = "date")]
        pub enrolled_on: Timestamp,
        #[field(max = 2)]
        pub grade: Option<String>,
    }

    #[derive(Access)]
    #[access(find = Student, name = "student", where = "student_id = :student_id")]
    pub struct StudentPattern {
        pub student_id: String,
    }

    #[derive(Access)]
    #[access(find = Course, name = "courses of a student, with titles", via = Enrollment, where = "student_id = :student_id", limit = 25)]
    pub struct CoursesOfAStudentWithTitles {
        pub student_id: String,
    }

    #[derive(Access)]
    #[access(find = Student, name = "students of a course, with names", via = Enrollment, where = "course_id = :course_id", limit = 25)]
    pub struct StudentsOfACourseWithNames {
        pub course_id: String,
    }

    #[derive(Access)]
    #[access(find = Enrollment, name = "enrollment: Student to Course", where = "student_id = :student_id", all_pages, implied)]
    pub struct EnrollmentStudentToCourse {
        pub student_id: String,
    }

    #[derive(Access)]
    #[access(find = Enrollment, name = "enrollment: Course to Student", where = "course_id = :course_id", all_pages, implied)]
    pub struct EnrollmentCourseToStudent {
        pub course_id: String,
    }
}
